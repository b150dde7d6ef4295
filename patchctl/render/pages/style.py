"""The style sheet of the page: no fetched font, no image; light and dark, narrow and wide, screen and paper."""

STYLE = """
:root { color-scheme: light dark; --ground: #f6f7f9; --card: #fff; --ink: #1c2430; --soft: #5b6675; --line: #dde2e9;
  --good: #17703b; --good-ground: #e2f4e8; --bad: #b3261e; --bad-ground: #fce8e6; --warn: #8a5300;
  --warn-ground: #fdf0d5;
  --calm: #2b5fa8; --calm-ground: #e4edfa; }
@media (prefers-color-scheme: dark) { :root { --ground: #12161c; --card: #1a2029; --ink: #e4e9f0; --soft: #9aa6b5;
  --line: #2f3846; --good: #74d49a; --good-ground: #143222; --bad: #ff9a91; --bad-ground: #411b1a; --warn: #f0bd66;
  --warn-ground: #3a2b10; --calm: #8fbaf5; --calm-ground: #1a2d49; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.55 system-ui, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.55rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .7rem; }
h3 { font-size: 1.05rem; line-height: 1.35; margin: 0; }
h4 { font-size: .8rem; margin: 1.1rem 0 .3rem; color: var(--soft); text-transform: uppercase; letter-spacing: .04em; }
p { margin: .3rem 0; } a { color: var(--calm); }
code, pre { font: .86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code, dd, p, h1, h3, li { overflow-wrap: anywhere; }
td, td * { overflow-wrap: break-word; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .7rem;
  margin: 1.2rem 0; padding: 0;
  list-style: none; }
.tiles li, article, .problem { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
.tiles li { padding: .6rem .9rem; } .tiles b { display: block; font-size: 1.6rem; line-height: 1.2; }
.tiles .good b { color: var(--good); } .tiles .bad b { color: var(--bad); } .tiles .warn b { color: var(--warn); }
nav ul { list-style: none; padding: 0; margin: 0 0 1.1rem; columns: 20rem; } nav li { padding: .12rem 0;
  break-inside: avoid; }
article { padding: 1rem 1.1rem; margin: 0 0 .9rem; border-left: .3rem solid var(--line); }
article.good { border-left-color: var(--good); } article.bad { border-left-color: var(--bad); }
article.warn { border-left-color: var(--warn); } article.calm { border-left-color: var(--calm); }
.problem { padding: .6rem .9rem; margin: .5rem 0; border-color: var(--warn); }
.problem.bad { border-color: var(--bad); }
.tag { display: inline-block; padding: .02rem .5rem; border-radius: 1rem; font-size: .8rem;
  border: 1px solid var(--line);
  color: var(--soft); white-space: nowrap; }
.tag.good { color: var(--good); background: var(--good-ground); border-color: transparent; }
.tag.bad { color: var(--bad); background: var(--bad-ground); border-color: transparent; }
.tag.warn { color: var(--warn); background: var(--warn-ground); border-color: transparent; }
.tag.calm { color: var(--calm); background: var(--calm-ground); border-color: transparent; }
dl { display: grid; grid-template-columns: 7.5rem 1fr; gap: .25rem .8rem; margin: .7rem 0; }
dt { color: var(--soft); } dd { margin: 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th { text-align: left; font-weight: 600; color: var(--soft); } td, th { padding: .3rem .8rem .3rem 0;
  vertical-align: top;
  border-bottom: 1px solid var(--line); }
td ul { margin: .2rem 0; padding-left: 1.1rem; } td { min-width: 5rem; }
details { margin: .6rem 0 0; } summary { cursor: pointer; color: var(--calm); overflow-wrap: anywhere; }
pre { margin: .5rem 0 0; padding: .6rem 0; overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem;
  background: var(--ground); tab-size: 4; }
pre span { display: block; padding: 0 .8rem; min-width: max-content; }
pre .add { color: var(--good); background: var(--good-ground); } pre .cut { color: var(--bad);
  background: var(--bad-ground); }
pre .at { color: var(--calm); } pre .name { color: var(--soft); font-weight: 600; }
footer { margin-top: 2.5rem; color: var(--soft); font-size: .88rem; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
@media print { :root { color-scheme: light; --ground: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #bbb;
  --good: #0a5c2c; --good-ground: #eaf6ee; --bad: #9c1c15; --bad-ground: #fceeed; --warn: #6b4100;
  --warn-ground: #fdf5e4; --calm: #1d4a8a; --calm-ground: #edf3fc; }
  body { font-size: 10pt; } main { max-width: none; padding: 0; } h2, h3, h4 { break-after: avoid; }
  pre { overflow: visible; } pre span { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 0; }
  details::details-content { content-visibility: visible; block-size: auto; } }
"""
