// How the page of a life looks: one style for light and dark, from 400 pixels of width on. Text has at least a contrast
// of 4.5 to its ground (WCAG 2.1, 1.4.3). k0 to k11 are the parts of a step in their order, k12 is what is free.
#include "workload/life/page_parts.h"

namespace weft::workload::page {
namespace {

constexpr std::string_view kStyle = R"css(
:root{--bg:#fff;--ink:#1b2129;--soft:#545e6b;--line:#d3d9e0;--card:#f5f7f9;--lane:#eef1f5;--accent:#0b5cad;
--warn:#8a3b00;
--warnbg:#fff4e8;--d0:#20262e;--d1:#3a424d;--dink:#c9d0d8;--event:#1b2129;--mb:#7db2ea;--ms:#e3b341;--mf:#74c69d;
--mo:#b3a2d8;--mn:#a5cf4f;--free:#e4e8ed}
@media (prefers-color-scheme:dark){:root{--bg:#12161b;--ink:#e7ebf0;--soft:#a3adb9;--line:#37404b;--card:#1a2027;
--lane:#232b34;--accent:#7ab8ff;--warn:#ffb877;--warnbg:#2b2118;--d0:#05070a;--d1:#161b21;--dink:#8d98a5;
--event:#e7ebf0;
--mb:#2a6096;--ms:#806006;--mf:#25694a;--mo:#5f4f8c;--mn:#4d6d12;--free:#2a323c}}
*{box-sizing:border-box}
html{scroll-behavior:smooth}
body{margin:0;background:var(--bg);color:var(--ink);
font:15px/1.45 system-ui,"Segoe UI","DejaVu Sans",Helvetica,Arial,sans-serif}
header,main{max-width:1240px;margin:0 auto;padding:0 20px}
header{padding-top:20px}
h1{font-size:1.7rem;line-height:1.2;margin:.1em 0;overflow-wrap:anywhere}
h1 span{font-weight:400;color:var(--soft)}
h2{font-size:1.25rem;margin:0 0 .5em}
main>section{margin:34px 0}
p{margin:.4em 0}
a{color:var(--accent)}
code{font:.88em ui-monospace,"DejaVu Sans Mono",Menlo,monospace;background:var(--card);padding:.05em .35em;
border-radius:3px;overflow-wrap:anywhere}
.kind{text-transform:uppercase;letter-spacing:.08em;font-size:.78rem;color:var(--soft);margin:0}
.sub,.note,small{color:var(--soft)}
.note{font-size:.88rem}
.skip{position:absolute;left:-999px}
.skip:focus{left:8px;top:8px;background:var(--bg);padding:6px}
.tiles{list-style:none;margin:16px 0;padding:0;display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));
gap:10px}
.tiles li{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px}
.tiles b{display:block;font-size:1.45rem;line-height:1.15}
.tiles span,.tiles small{display:block}
.verdict{background:var(--warnbg);border-left:5px solid var(--warn);border-radius:4px;padding:12px 16px;margin:14px 0}
.verdict h2{margin:0 0 .2em;color:var(--warn)}
.verdict ol{margin:.5em 0 0;padding-left:1.4em}
.verdict code{background:none;padding:0;color:var(--soft)}
nav{display:flex;flex-wrap:wrap;gap:4px 14px;padding:8px 0;border-bottom:1px solid var(--line)}
.scroll{overflow-x:auto;max-width:100%}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
table{border-collapse:collapse;font-size:.92rem;width:100%}
caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
th,td{padding:4px 10px 4px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft);white-space:nowrap}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(250px,1fr));gap:2px 24px;margin:12px 0}
.facts div{display:flex;justify-content:space-between;gap:12px;border-bottom:1px solid var(--line);padding:3px 0}
.facts dt{color:var(--soft)}
.facts dd{margin:0;text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
svg.states{display:block;width:100%;min-width:1000px;height:auto}
svg.chart{display:block;width:100%;max-width:760px;min-width:480px;height:auto}
.pic text{font-size:13px;fill:var(--ink)}
.pic text.s{font-size:11.5px;fill:var(--ink)}
.pic text.xs{font-size:11px;fill:var(--ink)}
.pic text.b{font-weight:600}
.pic text.big{font-size:16px}
.pic text.s.b{fill:var(--ink)}
.lane{fill:var(--lane)}
.dark{fill:url(#hatch)}
.d0{fill:var(--d0)}
.d1{fill:var(--d1)}
.pic text.ink-dark{fill:var(--dink)}
.main{fill:none;stroke:var(--ink);stroke-width:2}
.event{fill:var(--event);opacity:.75}
.axis{fill:none;stroke:var(--soft)}
.grid{stroke:var(--line)}
.peak{fill:none;stroke:var(--ink);stroke-width:1.5;stroke-dasharray:4 3}
.badge{fill:var(--ink)}
.pic text.ink-badge{fill:var(--bg)}
.m-backend{fill:var(--mb)}.m-storage{fill:var(--ms)}.m-frontend{fill:var(--mf)}.m-oob{fill:var(--mo)}
.m-nvlink{fill:var(--mn)}
.events{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:10px 26px;margin-top:14px}
.events ul{list-style:none;padding:0;margin:6px 0}
.events li{padding:4px 0;border-top:1px solid var(--line)}
.events summary{cursor:pointer}
.tag{display:inline-block;border:1px solid var(--soft);border-radius:9px;padding:0 7px;font-size:.76rem}
.bar{display:flex;height:40px;border-radius:6px;overflow:hidden;border:1px solid var(--line)}
.pc{white-space:pre}
.bar i{display:flex;align-items:center;justify-content:center;overflow:hidden;white-space:nowrap;font-style:normal;
font-size:.82rem;
border-right:1px solid var(--bg);min-width:1px}
.legend{list-style:none;padding:0;margin:10px 0 16px;display:grid;
grid-template-columns:repeat(auto-fill,minmax(min(310px,100%),1fr));gap:4px 18px;font-size:.92rem}
.key{display:inline-flex;justify-content:center;align-items:center;font-style:normal;font-size:.75rem;min-width:22px;
height:18px;border-radius:3px;margin-right:8px}
.k0{background:#1f5fa8;color:#fff}.k1{background:#9cc2ea;color:#10202f}.k2{background:#c04a00;color:#fff}
.k3{background:#e8a21c;color:#241700}
.k4{background:#a01a2b;color:#fff}.k5{background:#e3a6c6;color:#2b0d1d}.k6{background:#6f45a0;color:#fff}
.k7{background:#a7aeb6;color:#14181c}
.k8{background:#00714f;color:#fff}.k9{background:#c3cf6a;color:#1c2000}.k10{background:#6d4f2c;color:#fff}
.k11{background:#4a525c;color:#fff}
.k12{background:var(--free);color:var(--ink)}
.k0f{fill:#3f83cf}
.gains{list-style:none;padding:0}
.gains li{display:grid;grid-template-columns:minmax(200px,1.1fr) 2fr 70px 100px;gap:4px 14px;align-items:center;
padding:7px 0;border-bottom:1px solid var(--line)}
.track{background:var(--lane);border-radius:4px;height:20px}
.track i{display:block;height:100%;border-radius:4px;min-width:2px}
.paper{margin:0 0 14px;background:#fff;color:#1b2129;border:1px solid var(--line);border-radius:6px;padding:10px}
.paper figcaption{font-weight:600;margin-bottom:6px}
.plain{padding-left:1.2em}
.tools{display:flex;flex-wrap:wrap;gap:6px;align-items:center;margin:8px 0}
.tools[hidden]{display:none}
button{font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--soft);border-radius:5px;
padding:3px 11px;cursor:pointer}
#tl{position:relative;max-height:80vh;overflow-y:auto;overflow-x:hidden;border:1px solid var(--line);border-radius:6px}
#tl canvas{display:block;touch-action:pan-y;cursor:grab}
#tip{position:absolute;pointer-events:none;background:var(--ink);color:var(--bg);font-size:.84rem;padding:5px 9px;
border-radius:4px;max-width:300px;white-space:pre-line;z-index:2}
#tip[hidden]{display:none}
details summary{cursor:pointer}
@media (max-width:640px){body{font-size:14px}header,main{padding-left:12px;padding-right:12px}h1{font-size:1.35rem}
.tiles{grid-template-columns:1fr 1fr;gap:8px}.tiles b{font-size:1.15rem}
.gains li{grid-template-columns:1fr auto}.gains li span{grid-column:1/-1}
.tools small{width:100%}.pc{display:none}td:last-child:not(.n){min-width:220px}}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
@media print{.tools,nav{display:none}#tl{max-height:none}}
)css";

}  // namespace

std::string_view style_text() { return kStyle; }

}  // namespace weft::workload::page
