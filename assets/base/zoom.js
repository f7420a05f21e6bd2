(() => {
'use strict';
const MAX = 40;
const setUp = (box) => {
  const svg = box.querySelector('svg');
  if (!svg || !svg.viewBox.baseVal.width) return;
  const whole = svg.viewBox.baseVal, all = {x: whole.x, y: whole.y, w: whole.width, h: whole.height};
  let view = {...all};
  const show = () => {
    svg.setAttribute('viewBox', `${view.x} ${view.y} ${view.w} ${view.h}`);
    box.dataset.zoom = (all.w / view.w).toFixed(2);
    box.classList.toggle('in', view.w < all.w);
  };
  const set = (x, y, w) => {
    w = Math.min(all.w, Math.max(all.w / MAX, w));
    const h = w * all.h / all.w;
    const clamp = (at, low, size, part) => Math.min(Math.max(at, low - part / 2), low + size - part / 2);
    view = {x: clamp(x, all.x, all.w, w), y: clamp(y, all.y, all.h, h), w, h};
    if (w === all.w) view = {...all};
    show();
  };
  const place = (e) => new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const zoom = (factor, at = {x: view.x + view.w / 2, y: view.y + view.h / 2}) => {
    const w = Math.min(all.w, Math.max(all.w / MAX, view.w / factor)), f = w / view.w;
    set(at.x - (at.x - view.x) * f, at.y - (at.y - view.y) * f, w);
  };
  const move = (x, y) => set(view.x + x * view.w, view.y + y * view.h, view.w);
  const act = {
    '+': () => zoom(1.6), '=': () => zoom(1.6), '-': () => zoom(1 / 1.6), '0': () => set(all.x, all.y, all.w),
    ArrowLeft: () => move(-0.15, 0), ArrowRight: () => move(0.15, 0), ArrowUp: () => move(0, -0.15),
    ArrowDown: () => move(0, 0.15)
  };
  const tools = document.createElement('div');
  tools.className = 'tools';
  for (const [key, text, label] of [['+', '+', 'Zoom in'], ['-', '\u2212', 'Zoom out'], ['0', 'Fit', 'Show all']]) {
    const button = document.createElement('button');
    button.type = 'button'; button.textContent = text; button.title = label;
    button.setAttribute('aria-label', label); button.dataset.zoomKey = key;
    button.addEventListener('click', act[key]);
    tools.append(button);
  }
  box.prepend(tools);
  box.tabIndex = 0;
  box.addEventListener('keydown', (e) => {
    if (!Object.hasOwn(act, e.key) || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key.startsWith('Arrow') && view.w === all.w) return;  // the page scrolls
    act[e.key](); e.preventDefault();
  });
  // A wheel scrolls the page until the picture has the focus.
  svg.addEventListener('wheel', (e) => {
    if (!e.ctrlKey && !e.metaKey && !box.contains(document.activeElement)) return;
    if (e.deltaY > 0 && view.w === all.w && !e.ctrlKey) return;
    e.preventDefault(); zoom(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.002)), place(e));
  }, {passive: false});
  svg.addEventListener('dblclick', (e) => zoom(1.6, place(e)));
  const held = new Map();
  let dragged = false;
  svg.addEventListener('pointerdown', (e) => {
    if (e.button !== 0) return;
    if (held.size === 0) dragged = false;
    held.set(e.pointerId, {x: e.clientX, y: e.clientY, from: place(e)});
  });
  svg.addEventListener('pointermove', (e) => {
    const one = held.get(e.pointerId);
    if (!one) return;
    if (Math.hypot(e.clientX - one.x, e.clientY - one.y) > 4 && !dragged) {
      dragged = true; svg.setPointerCapture(e.pointerId);
    }
    if (!dragged) return;
    if (held.size === 2) {
      const other = [...held].find(([id]) => id !== e.pointerId)[1];
      const gap = (p) => Math.hypot(p.x - other.x, p.y - other.y) || 1;
      const now = {x: e.clientX, y: e.clientY};
      const middle = place({clientX: (now.x + other.x) / 2, clientY: (now.y + other.y) / 2});
      zoom(gap(now) / gap(one), middle);
      one.x = now.x; one.y = now.y;
      return;
    }
    if (view.w === all.w) return;
    const at = place(e);
    set(view.x + one.from.x - at.x, view.y + one.from.y - at.y, view.w);
  });
  for (const end of ['pointerup', 'pointercancel']) svg.addEventListener(end, (e) => held.delete(e.pointerId));
  // A drag that ends on a device does not choose it.
  svg.addEventListener('click', (e) => { if (dragged) { e.stopImmediatePropagation(); dragged = false; } }, true);
  box.show = (target) => {  // brings a shape into view
    const r = target.getBBox();
    const x = r.x + r.width / 2, y = r.y + r.height / 2;
    if (x > view.x && x < view.x + view.w && y > view.y && y < view.y + view.h) return;
    set(x - view.w / 2, y - view.h / 2, view.w);
  };
  show();
};
for (const box of document.querySelectorAll('.zoom')) setUp(box);
})();
