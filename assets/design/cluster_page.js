(() => {
'use strict';
const root = document.documentElement, by = (id) => document.getElementById(id);
const {d: devices, c: cables, s: texts} = JSON.parse(by('cluster').textContent);
const FABRICS = ['backend', 'storage', 'frontend', 'out-of-band'], WIDTH = 8, ROWS = 512, HITS = 24;
const [NAME, MODEL, ROLE, RACK, UNIT, SWITCH] = [0, 1, 2, 3, 4, 5];
const boxes = [...document.querySelectorAll('.zoom')];
const shapes = new Map();  // by device
for (const shape of document.querySelectorAll('[data-d]')) {
  const id = Number(shape.dataset.d);
  if (!shapes.has(id)) shapes.set(id, []);
  shapes.get(id).push(shape);
}
const make = (tag, text, parent) => {
  const element = document.createElement(tag);
  element.textContent = text;
  parent.append(element);
  return element;
};
// The cables of a device: its port, the other device and port, and what the cable is.
const cablesOf = (id) => {
  const found = [];
  for (let i = 0; i < cables.length; i += WIDTH) {
    const [a, portA, b, portB, speed, kind, length, fabric] = cables.slice(i, i + WIDTH);
    if (a === id) found.push({port: portA, peer: b, peerPort: portB, speed, kind, length, fabric});
    if (b === id) found.push({port: portB, peer: a, peerPort: portA, speed, kind, length, fabric});
  }
  return found;
};
const fact = (list, what, value) => {
  const row = make('div', '', list);
  make('dt', what, row); make('dd', value, row);
};
const table = (panel, rows) => {
  const box = make('div', '', panel);
  box.className = 'scroll'; box.tabIndex = 0; box.setAttribute('role', 'region'); box.setAttribute('aria-label', 'Cables');
  const all = make('table', '', box);
  make('caption', 'Cables', all);
  const head = make('tr', '', make('thead', '', all));
  for (const title of ['Port', 'Neighbor', 'Its port', 'Network', 'Speed', 'Cable', 'Length']) {
    make('th', title, head).scope = 'col';
  }
  const body = make('tbody', '', all);
  for (const one of rows.slice(0, ROWS)) {
    const row = make('tr', '', body);
    make('th', texts[one.port], row).scope = 'row';
    const peer = make('button', devices[one.peer][NAME], make('td', '', row));
    peer.type = 'button';
    peer.addEventListener('click', () => choose(one.peer));
    for (const text of [texts[one.peerPort], FABRICS[one.fabric], texts[one.speed], texts[one.kind],
      `${one.length / 100} m`]) make('td', text, row);
  }
  if (rows.length > ROWS) make('p', `${rows.length - ROWS} more cables`, panel).className = 'note';
};
const clear = () => {
  for (const shape of document.querySelectorAll('.own,.near,.lit')) shape.classList.remove('own', 'near', 'lit');
  for (const box of boxes) box.classList.remove('chosen');
};
const mark = (id, peers) => {
  clear();
  for (const box of boxes) {
    const own = box.querySelectorAll(`[data-d="${id}"]`);
    if (own.length === 0) continue;
    box.classList.add('chosen');
    for (const shape of own) shape.classList.add('own');
    // A bundle has one end, its leaf; hosts and their leaf light it.
    for (const link of box.querySelectorAll('[data-l]')) {
      const [a, b] = link.dataset.l.split(' ').map(Number);
      const lit = a === id || b === id || (b === undefined && devices[id][SWITCH] < 0 && peers.has(a));
      if (lit) link.classList.add('lit');
    }
    if (box.show) box.show(own[0]);
  }
  for (const peer of peers) for (const shape of shapes.get(peer) || []) shape.classList.add('near');
};
const choose = (id) => {
  const device = devices[id], rows = cablesOf(id), panel = by('device');
  mark(id, new Set(rows.map((row) => row.peer)));
  const title = document.createElement('h2'), close = document.createElement('button');
  title.textContent = device[NAME];
  close.type = 'button'; close.textContent = 'Close'; close.id = 'close';
  close.addEventListener('click', () => { clear(); panel.hidden = true; delete root.dataset.chosen; });
  title.append(close);
  const facts = document.createElement('dl');
  facts.className = 'facts';
  fact(facts, 'Model', texts[device[MODEL]] || '-');
  fact(facts, 'Role', texts[device[ROLE]]);
  fact(facts, 'Rack', texts[device[RACK]] + (device[UNIT] > 0 ? `, U${device[UNIT]}` : ''));
  fact(facts, 'Cables', String(rows.length));
  const drawn = (shapes.get(id) || []).length > 0;
  panel.replaceChildren(title, facts);
  if (!drawn) make('p', 'Not drawn by itself: devices of one kind are drawn once.', panel).className = 'note';
  table(panel, rows);
  panel.hidden = false; panel.scrollTop = 0;
  root.dataset.chosen = device[NAME];
  history.replaceState(null, '', '#device=' + encodeURIComponent(device[NAME]));
};
for (const box of boxes) {
  box.addEventListener('click', (e) => {
    const shape = e.target.closest('[data-d]');
    if (shape) choose(Number(shape.dataset.d));
  });
}
const search = (text) => {
  const query = text.trim().toLowerCase();
  const hits = query === '' ? [] : devices.map((device, id) => ({device, id})).filter(({device}) =>
    [device[NAME], texts[device[MODEL]], texts[device[ROLE]], texts[device[RACK]]].some((words) =>
      words.toLowerCase().includes(query)));
  by('hits').replaceChildren(...hits.slice(0, HITS).map(({device, id}) => {
    const item = document.createElement('li'), button = make('button', device[NAME], item);
    button.type = 'button';
    button.addEventListener('click', () => choose(id));
    return item;
  }));
  by('hits').hidden = hits.length === 0;
  by('found').textContent = query === '' ? '' : `${hits.length} of ${devices.length} devices`;
  return hits;
};
by('find').addEventListener('input', (e) => search(e.target.value));
by('find').addEventListener('keydown', (e) => {
  if (e.key !== 'Enter') return;
  const hits = search(e.target.value);
  if (hits.length > 0) choose(hits[0].id);
});
by('find-box').hidden = false;
const named = () => {
  if (!location.hash.startsWith('#device=')) return;
  const id = devices.findIndex((device) => '#device=' + encodeURIComponent(device[NAME]) === location.hash);
  if (id >= 0) choose(id);
};
addEventListener('hashchange', named);
named();
root.dataset.weft = 'ready';
})();
