(() => {
'use strict';
const root = document.documentElement;
const source = document.getElementById('tl-data');
if (!source) { root.dataset.weft = 'ready'; return; }
const data = JSON.parse(source.textContent);
const box = document.getElementById('tl');
const canvas = box.querySelector('canvas');
const tip = document.getElementById('tip');
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
    draw.globalAlpha = 0.25 + 0.0075 * s.b;
    draw.fillStyle = fill(s.n); draw.fillRect(a, y, Math.max(0.7, b - a), ROW - 1);
    draw.globalAlpha = 1;
    last = b; depth = s.d;
    if (b - a < 26) continue;
    draw.fillStyle = color.bg; draw.fillRect(b - 1, y, 1, ROW - 1);
    draw.fillStyle = color.ink; draw.fillText(cut(data.names[s.n], b - a - 6), a + 3, y + 11);
  }
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
const keys = {'+': 'in', '=': 'in', '-': 'out', '0': 'all', ArrowLeft: 'left', ArrowRight: 'right'};
box.addEventListener('keydown', (e) => {
  if (!Object.hasOwn(keys, e.key) || e.ctrlKey || e.metaKey) return;
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
canvas.addEventListener('pointerup', () => { held = null; });
canvas.addEventListener('pointercancel', () => { held = null; });
canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
const words = (row, t) => {
  if (row.counter) {
    const d = row.counter.d;
    let i = 0;
    while (i + 2 < d.length && d[i + 2] <= t) i += 2;
    return `${row.counter.t}\n${Number(d[i + 1].toPrecision(4))} ${row.counter.u} at ${time(t)}`;
  }
  const slack = (to - from) / (width - labels);
  let found = null;
  for (const s of row.list) {
    if (s.d !== row.depth || t < s.s - slack || t > s.s + s.l + slack) continue;
    found = s;
    if (s.s <= t && t <= s.s + s.l) break;
  }
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
  const row = rows.find((r) => r.head === undefined && e.offsetY >= r.y && e.offsetY < r.y + r.h);
  let text = '';
  if (row && e.offsetX >= labels) {
    row.depth = Math.floor((e.offsetY - row.y) / ROW);
    text = words(row, timeAt(e.offsetX));
  }
  tip.hidden = text === ''; tip.textContent = text;
  if (text === '') return;
  tip.style.left = Math.max(4, Math.min(e.offsetX + 12, width - tip.offsetWidth - 6)) + 'px';
  tip.style.top = (e.offsetY + 16) + 'px';
});
box.addEventListener('scroll', repaint);
dark.addEventListener('change', resize);
addEventListener('resize', resize);
document.querySelector('.tools').hidden = false;
resize();
root.dataset.spans = spans;
root.dataset.weft = 'ready';
})();
