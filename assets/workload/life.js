(() => {
'use strict';
const root = document.documentElement;
const by = (id) => document.getElementById(id);
const source = by('tl-data');
let query = '', findSpans = () => '';  // the timeline, if there is one, replaces it
const rowsOf = [...document.querySelectorAll('.event-row')].map((row) => ({row, text: row.textContent.toLowerCase()}));
const open = (row) => {
  row.closest('.state').open = true; row.open = true;
  row.querySelector('summary').focus({preventScroll: true});
  row.scrollIntoView({block: 'center'});
};
const search = (text) => {
  query = text.trim().toLowerCase();
  let count = 0;
  for (const {row, text: words} of rowsOf) {
    const fits = words.includes(query);
    row.closest('li').hidden = !fits;
    count += fits;
  }
  for (const state of document.querySelectorAll('.state')) {
    const left = state.querySelectorAll('li:not([hidden])').length;
    state.open = query !== '' && left > 0;
    state.hidden = query !== '' && left === 0;
  }
  const spans = findSpans();
  by('found').textContent = query === '' ? '' : `${count} of ${rowsOf.length} events${spans}`;
};
by('find-box').hidden = false;
by('find').addEventListener('input', (e) => search(e.target.value));
for (const strip of document.querySelectorAll('[data-event]')) {
  strip.addEventListener('click', () => {
    if (query !== '') { by('find').value = ''; search(''); }
    const row = by(strip.dataset.event);
    if (row) open(row);
  });
}
if (!source) { by('find-next').hidden = true; root.dataset.weft = 'ready'; return; }
const data = JSON.parse(source.textContent);
const box = by('tl');
const canvas = box.querySelector('canvas');
const tip = by('tip');
const draw = canvas.getContext('2d');
const AXIS = 24, ROW = 15, GAP = 5, HEAD = 20, CHART = 44;
let spans = 0;
const rows = [];
let height = AXIS, process = null;
const enter = (p) => {
  if (p !== process) { rows.push({head: p, y: height}); height += HEAD; process = p; }
};
for (const track of data.tracks) {
  enter(track.p);
  const d = track.d, list = [];
  let at = 0;
  for (let i = 0; i < d.length; i += 6) {
    at += d[i];
    list.push({s: at, l: d[i + 1], n: d[i + 2], d: d[i + 3], c: d[i + 4], b: d[i + 5]});
  }
  list.sort((a, b) => a.d - b.d || a.s - b.s);
  spans += list.length;
  rows.push({track, list, y: height, h: track.n * ROW});
  height += track.n * ROW + GAP;
}
for (const counter of data.counters) {
  enter(counter.p);
  let top = 0;
  for (let i = 1; i < counter.d.length; i += 2) top = Math.max(top, counter.d[i]);
  rows.push({counter, top: counter.u === '%' ? Math.max(top, 100) : top || 1, y: height, h: CHART});
  height += CHART + GAP;
}
height += 4;
let chosen = null;  // a span and its row
const matches = (s) => query === '' || data.names[s.n].toLowerCase().includes(query);
let from = 0, to = data.length, width = 0, labels = 150, color = {};
const dark = matchMedia('(prefers-color-scheme: dark)');
const readColors = () => {
  const style = getComputedStyle(root), get = (n) => style.getPropertyValue(n).trim();
  color = {bg: get('--bg'), ink: get('--ink'), soft: get('--soft'), lane: get('--lane'), area: get('--mb')};
};
// The golden angle keeps hues of neighboring numbers apart.
const hue = (n) => Math.round(n * 137.508 + 210) % 360;
const fill = (n) => dark.matches ? `hsl(${hue(n)} 38% 34%)` : `hsl(${hue(n)} 58% 76%)`;
const x = (t) => labels + (t - from) / (to - from) * (width - labels);
const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];
const time = (ns) => {
  const u = units.find((v) => Math.abs(ns) >= v[0]) || units[3];
  return Number((ns / u[0]).toPrecision(4)) + ' ' + u[1];
};
const cut = (text, room) => {
  if (draw.measureText(text).width <= room) return text;
  const keep = Math.floor(text.length * room / draw.measureText(text).width) - 1;
  return keep < 2 ? '' : text.slice(0, keep) + '\u2026';
};
const axis = (top) => {
  draw.fillStyle = color.bg; draw.fillRect(0, top, width, AXIS);
  draw.fillStyle = color.soft; draw.font = '11px system-ui, sans-serif'; draw.textAlign = 'center';
  const raw = (to - from) / Math.max(2, (width - labels) / 90), power = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(1, [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw));
  const unit = units.find((v) => step >= v[0]) || units[3];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const at = x(t);
    if (at > width - 16) break;
    draw.fillRect(at, top + 18, 1, 6);
    if (at > labels + 14) draw.fillText(Math.round(t / unit[0] * 10) / 10 + ' ' + unit[1], at, top + 14);
  }
  draw.fillRect(labels, top + AXIS - 1, width - labels, 1);
  draw.textAlign = 'left'; draw.fillText('since its start', 6, top + 14);
};
const drawSpans = (row) => {
  draw.fillStyle = color.lane; draw.fillRect(labels, row.y, width - labels, row.h);
  let last = -1, depth = -1;
  for (const s of row.list) {
    if (s.s + s.l < from || s.s > to) continue;
    const a = Math.max(labels, x(s.s)), b = Math.min(width, x(s.s + s.l));
    // Skip spans that end on the same pixel as the previous one.
    if (s.d === depth && b <= last) continue;
    const y = row.y + s.d * ROW;
    // The opacity of merged spans is their density.
    draw.globalAlpha = (0.25 + 0.0075 * s.b) * (matches(s) ? 1 : 0.15);
    draw.fillStyle = fill(s.n); draw.fillRect(a, y, Math.max(0.7, b - a), ROW - 1);
    draw.globalAlpha = 1;
    last = b; depth = s.d;
    if (b - a < 26) continue;
    draw.fillStyle = color.bg; draw.fillRect(b - 1, y, 1, ROW - 1);
    draw.fillStyle = color.ink; draw.fillText(cut(data.names[s.n], b - a - 6), a + 3, y + 11);
  }
  if (!chosen || chosen.row !== row) return;
  const s = chosen.span, a = Math.max(labels, x(s.s)), b = Math.min(width, x(s.s + s.l));
  if (b < labels || a > width) return;
  draw.strokeStyle = color.ink; draw.lineWidth = 2;
  draw.strokeRect(a - 1, row.y + s.d * ROW - 1, Math.max(3, b - a + 2), ROW + 1);
};
const drawCounter = (row) => {
  const d = row.counter.d, bottom = row.y + row.h;
  draw.fillStyle = color.lane; draw.fillRect(labels, row.y, width - labels, row.h);
  draw.save(); draw.beginPath(); draw.rect(labels, row.y, width - labels, row.h); draw.clip();
  draw.fillStyle = color.area; draw.beginPath(); draw.moveTo(x(d[0]), bottom);
  for (let i = 0; i < d.length; i += 2) {
    const y = bottom - d[i + 1] / row.top * row.h;
    draw.lineTo(x(d[i]), y);
    draw.lineTo(x(i + 2 < d.length ? d[i + 2] : data.length), y);
  }
  draw.lineTo(x(data.length), bottom); draw.fill(); draw.restore();
};
let asked = false;
const paint = () => {
  asked = false;
  draw.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  draw.fillStyle = color.bg; draw.fillRect(0, 0, width, height);
  draw.font = '11px system-ui, sans-serif'; draw.textBaseline = 'alphabetic'; draw.textAlign = 'left';
  for (const row of rows) {
    if (row.head !== undefined) {
      draw.font = '600 12px system-ui, sans-serif'; draw.fillStyle = color.ink;
      draw.fillText(cut(row.head, width - 12), 6, row.y + 14); draw.font = '11px system-ui, sans-serif';
      continue;
    }
    if (row.track) drawSpans(row); else drawCounter(row);
    draw.fillStyle = color.soft;
    draw.fillText(cut(row.track ? row.track.t : row.counter.t, labels - 18), 14, row.y + 11);
    if (!row.counter) continue;
    const range = '0 to ' + Number(row.top.toPrecision(3)) + ' ' + row.counter.u;
    draw.fillText(cut(range, labels - 18), 14, row.y + 26);
  }
  axis(box.scrollTop);
};
const repaint = () => { if (!asked) { asked = true; requestAnimationFrame(paint); } };
const resize = () => {
  width = box.clientWidth; labels = Math.min(170, Math.max(86, width * 0.2));
  canvas.width = width * devicePixelRatio; canvas.height = height * devicePixelRatio;
  canvas.style.width = width + 'px'; canvas.style.height = height + 'px';
  readColors(); paint();
};
const view = (a, b) => {
  const length = Math.min(data.length, Math.max(20, b - a));
  from = Math.min(Math.max(0, a), data.length - length); to = from + length;
  root.dataset.view = Math.round(from) + '-' + Math.round(to);
  repaint();
};
const zoom = (factor, middle) => view(middle - (middle - from) * factor, middle + (to - middle) * factor);
const timeAt = (px) => from + (px - labels) / (width - labels) * (to - from);
const act = {
  in: () => zoom(0.5, (from + to) / 2), out: () => zoom(2, (from + to) / 2), all: () => view(0, data.length),
  left: () => view(from - (to - from) / 4, to - (to - from) / 4),
  right: () => view(from + (to - from) / 4, to + (to - from) / 4)
};
const since = (ns) => `${((data.start + ns) / 1e9).toFixed(6)} s`;
const line = (list, what, value) => {
  const term = document.createElement('dt'), text = document.createElement('dd');
  term.textContent = what; text.textContent = value;
  list.append(term, text);
};
const choose = (row, s) => {
  chosen = {row, span: s};
  const panel = by('op'), title = document.createElement('h3'), list = document.createElement('dl');
  const name = data.names[s.n];
  title.textContent = name;
  line(list, 'Where', `${row.track.p}, ${row.track.t}`);
  line(list, 'When', `${since(s.s)} to ${since(s.s + s.l)} after submit; ${time(s.s)} into the iteration`);
  line(list, 'Takes', `${time(s.l)}, ${Number((100 * s.l / data.length).toPrecision(3))} % of the iteration`);
  if (s.c > 1) line(list, 'Merged', `${s.c} spans, busy ${s.b} % of the time; the longest is ${name}`);
  const known = Object.hasOwn(data.ops, name) ? data.ops[name] : [['Network', 'none: a kernel of the GPU'],
    ['Why so long', 'Its arithmetic and memory traffic, at the rates of this GPU']];
  for (const [what, value] of known) line(list, what, value);
  panel.replaceChildren(title, list);
  panel.hidden = false;
  root.dataset.chosen = name;
  repaint();
};
// In order of time: to walk with the keys, and from match to match.
const walk = (step) => {
  const all = [];
  for (const row of rows) {
    if (row.track) for (const s of row.list) if (matches(s)) all.push({row, s});
  }
  if (all.length === 0) return;
  all.sort((a, b) => a.s.s - b.s.s || a.row.y - b.row.y);
  const at = chosen ? all.findIndex((one) => one.s === chosen.span) : -1;
  const {row, s} = all[((at < 0 && step < 0 ? 0 : at) + step + all.length) % all.length];
  if (s.s + s.l < from || s.s > to || s.l / (to - from) < 0.004) {
    const wide = Math.min(data.length, Math.max(40 * s.l, (to - from) / 64));
    view(s.s + s.l / 2 - wide / 2, s.s + s.l / 2 + wide / 2);
  }
  if (row.y < box.scrollTop + AXIS || row.y + row.h > box.scrollTop + box.clientHeight) box.scrollTop = row.y - AXIS;
  choose(row, s);
};
findSpans = () => {
  let count = 0;
  for (const row of rows) if (row.track) for (const s of row.list) count += matches(s) ? s.c : 0;
  for (const button of by('names').querySelectorAll('button')) {
    button.setAttribute('aria-pressed', String(query !== '' && button.dataset.name.toLowerCase() === query));
  }
  repaint();
  return `, ${count} spans of the timeline`;
};
by('find-next').addEventListener('click', () => walk(1));
const keys = {'+': 'in', '=': 'in', '-': 'out', '0': 'all', ArrowLeft: 'left', ArrowRight: 'right'};
box.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey) return;
  if (e.key === 'n' || e.key === 'p') { walk(e.key === 'n' ? 1 : -1); return; }
  if (!Object.hasOwn(keys, e.key)) return;
  act[keys[e.key]]();
  e.preventDefault();
});
for (const button of document.querySelectorAll('[data-do]')) {
  button.addEventListener('click', () => act[button.dataset.do]());
}
canvas.addEventListener('wheel', (e) => {
  if (!e.ctrlKey && !e.metaKey) return;
  e.preventDefault(); zoom(Math.exp(e.deltaY * 0.002), timeAt(Math.max(labels, e.offsetX)));
}, {passive: false});
let held = null;
canvas.addEventListener('pointerdown', (e) => {
  held = {x: e.clientX, from, to};
  canvas.setPointerCapture(e.pointerId);
});
canvas.addEventListener('pointerup', (e) => {
  const still = held && Math.abs(e.clientX - held.x) < 4;
  held = null;
  if (!still) return;
  const row = rowAt(e.offsetY);
  const found = row && row.track && e.offsetX >= labels ? spanAt(row, timeAt(e.offsetX)) : null;
  if (found) choose(row, found);
});
canvas.addEventListener('pointercancel', () => { held = null; });
canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
const rowAt = (y) => {
  const row = rows.find((r) => r.head === undefined && y >= r.y && y < r.y + r.h);
  if (row) row.depth = Math.floor((y - row.y) / ROW);
  return row;
};
const spanAt = (row, t) => {
  const slack = (to - from) / (width - labels);
  let found = null;
  for (const s of row.list) {
    if (s.d !== row.depth || t < s.s - slack || t > s.s + s.l + slack) continue;
    found = s;
    if (s.s <= t && t <= s.s + s.l) break;
  }
  return found;
};
const words = (row, t) => {
  if (row.counter) {
    const d = row.counter.d;
    let i = 0;
    while (i + 2 < d.length && d[i + 2] <= t) i += 2;
    return `${row.counter.t}\n${Number(d[i + 1].toPrecision(4))} ${row.counter.u} at ${time(t)}`;
  }
  const found = spanAt(row, t);
  if (!found) return '';
  const name = data.names[found.n];
  const what = found.c > 1 ? `${found.c} spans, ${found.b} % busy, the longest: ${name}` : name;
  return what + `\n${time(found.l)} from ${time(found.s)}`;
};
canvas.addEventListener('pointermove', (e) => {
  if (held) {
    const move = (e.clientX - held.x) / (width - labels) * (held.to - held.from);
    tip.hidden = true; view(held.from - move, held.to - move); return;
  }
  const row = rowAt(e.offsetY);
  const text = row && e.offsetX >= labels ? words(row, timeAt(e.offsetX)) : '';
  tip.hidden = text === ''; tip.textContent = text;
  if (text === '') return;
  tip.style.left = Math.max(4, Math.min(e.offsetX + 12, width - tip.offsetWidth - 6)) + 'px';
  tip.style.top = (e.offsetY + 16) + 'px';
});
// The legend: operations by the time they take, and a filter.
const NAMES = 24;
const legend = () => {
  const busy = data.names.map((name, n) => ({name, n, sum: 0}));
  for (const row of rows) if (row.track) for (const s of row.list) busy[s.n].sum += s.l * s.b;
  busy.sort((a, b) => b.sum - a.sum);
  by('names').replaceChildren(...busy.slice(0, NAMES).map(({name, n}) => {
    const item = document.createElement('li'), button = document.createElement('button');
    const swatch = document.createElement('i');
    swatch.style.background = fill(n);
    button.type = 'button'; button.dataset.name = name; button.setAttribute('aria-pressed', 'false');
    button.append(swatch, name);
    button.addEventListener('click', () => {
      by('find').value = query === name.toLowerCase() ? '' : name;
      search(by('find').value);
    });
    item.append(button);
    return item;
  }));
  by('names').hidden = false;
};
// Chrome's trace event format, as `weft sim life --trace` writes it, of the spans of this page.
const trace = () => {
  const events = [], processes = new Map();
  const pid = (name) => {
    if (!processes.has(name)) {
      processes.set(name, processes.size + 1);
      events.push({ph: 'M', name: 'process_name', pid: processes.size, tid: 0, args: {name}});
      events.push({ph: 'M', name: 'process_sort_index', pid: processes.size, tid: 0, args: {sort_index: processes.size}});
    }
    return processes.get(name);
  };
  let tid = 0;
  for (const row of rows) {
    if (row.track) {
      const where = {pid: pid(row.track.p), tid: ++tid};
      events.push({ph: 'M', name: 'thread_name', ...where, args: {name: row.track.t}});
      for (const s of row.list) {
        const event = {ph: 'X', name: data.names[s.n], ...where, ts: (data.start + s.s) / 1e3, dur: s.l / 1e3};
        if (s.c > 1) event.args = {spans: s.c, busy_percent: s.b};
        events.push(event);
      }
    } else if (row.counter) {
      const {p, t, u, d} = row.counter;
      for (let i = 0; i < d.length; i += 2) {
        events.push({ph: 'C', name: t, pid: pid(p), ts: (data.start + d[i]) / 1e3, args: {[u || 'value']: d[i + 1]}});
      }
    }
  }
  return JSON.stringify({displayTimeUnit: 'ms', otherData: {title: data.title}, traceEvents: events});
};
const PERFETTO = 'https://ui.perfetto.dev';
const tell = (text) => { by('trace-state').textContent = text; };
// https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui: PING until PONG, then the trace.
by('perfetto').addEventListener('click', () => {
  const other = window.open(PERFETTO);
  if (!other) { tell('The browser blocked the new tab: allow it, or download the trace.'); return; }
  tell('Waiting for ui.perfetto.dev ...');
  let tries = 0;
  const timer = setInterval(() => {
    if (++tries > 200 || other.closed) {
      clearInterval(timer); removeEventListener('message', heard);
      tell('ui.perfetto.dev did not answer: download the trace and open it there.');
      return;
    }
    other.postMessage('PING', PERFETTO);
  }, 100);
  const heard = (e) => {
    if (e.origin !== PERFETTO || e.data !== 'PONG') return;
    clearInterval(timer); removeEventListener('message', heard);
    const buffer = new TextEncoder().encode(trace()).buffer;
    other.postMessage({perfetto: {buffer, title: data.title, fileName: 'life.json'}}, PERFETTO, [buffer]);
    tell('Handed over to Perfetto.');
  };
  addEventListener('message', heard);
});
by('download').addEventListener('click', () => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([trace()], {type: 'application/json'}));
  link.download = 'life.json';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  tell('Saved as life.json.');
});
box.addEventListener('scroll', repaint);
dark.addEventListener('change', () => { resize(); legend(); });
addEventListener('resize', resize);
by('tl-tools').hidden = by('trace').hidden = false;
resize();
legend();
root.dataset.spans = spans;
root.dataset.weft = 'ready';
})();
