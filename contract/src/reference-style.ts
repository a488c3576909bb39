const colours = `
:root {
  color-scheme: light dark;
  --paper: #ffffff; --panel: #f6f7f8; --ink: #1b2126; --soft: #59646e; --line: #dfe4e8;
  --accent: #0b6b64; --code-paper: #eef1f3; --example-paper: #14212b; --example-ink: #dfe8ee;
  --get: #0f6b3c; --post: #1c55b8; --put: #8a5300; --patch: #8a5300; --delete: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12171c; --panel: #181f26; --ink: #e3e8ec; --soft: #9aa7b2; --line: #2b353f;
    --accent: #5cc8bd; --code-paper: #212a33; --example-paper: #0b1015; --example-ink: #d5dfe7;
    --get: #6fce97; --post: #84b1ff; --put: #e2b264; --patch: #e2b264; --delete: #ff9088;
  }
}`;

const text = `
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1, h2, h3, h4 { line-height: 1.25; margin: 0; }
h1 { font-size: 2.1rem; letter-spacing: -0.02em; }
h2 { font-size: 1.55rem; letter-spacing: -0.01em; }
h3 { font-size: 1.15rem; }
h4 { font-size: 0.78rem; letter-spacing: 0.06em; text-transform: uppercase; color: var(--soft); margin: 1.6rem 0 0.5rem; }
h2 a, h3 a { color: inherit; text-decoration: none; }
h2 a:hover, h3 a:hover { text-decoration: underline; }
a { color: var(--accent); text-underline-offset: 0.15em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
p { margin: 0.6rem 0; }
code { font: 0.875em/1.4 ui-monospace, "SFMono-Regular", "DejaVu Sans Mono", monospace; background: var(--code-paper); border-radius: 4px; padding: 0.1em 0.35em; }
pre { margin: 0; padding: 0.9rem 1rem; border-radius: 8px; background: var(--example-paper); color: var(--example-ink); white-space: pre-wrap; }
pre code { background: none; padding: 0; font-size: 0.8rem; line-height: 1.6; }
.lead { font-size: 1.15rem; color: var(--soft); }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; z-index: 2; background: var(--paper); padding: 0.4rem 0.8rem; }`;

const navigation = `
.side { background: var(--panel); border-right: 1px solid var(--line); padding: 1.4rem 1rem 2rem; }
.brand { margin: 0 0.5rem 1rem; font-size: 1.1rem; font-weight: 650; }
.brand a { color: inherit; text-decoration: none; }
.version { font-size: 0.8rem; font-weight: 400; color: var(--soft); }
nav ul { list-style: none; margin: 0 0 1rem; padding: 0; font-size: 0.86rem; line-height: 1.35; }
nav li a { display: flex; gap: 0.55rem; align-items: baseline; padding: 0.26rem 0.5rem; border-radius: 6px; color: inherit; text-decoration: none; }
nav li a:hover { background: var(--code-paper); }
nav .group { margin: 0.9rem 0.5rem 0.25rem; font-weight: 650; font-size: 0.9rem; }
nav .group a { color: inherit; text-decoration: none; }
.method { font: 700 0.68rem/1.4 ui-monospace, "DejaVu Sans Mono", monospace; letter-spacing: 0.03em; flex: 0 0 3.1rem; }
.method.get { color: var(--get); } .method.post { color: var(--post); } .method.put { color: var(--put); }
.method.patch { color: var(--patch); } .method.delete { color: var(--delete); }
#menu { position: absolute; opacity: 0; pointer-events: none; }
label[for="menu"] { display: none; }`;

const content = `
main { padding: 2.5rem clamp(1rem, 4vw, 3.5rem) 6rem; max-width: 90rem; }
.introduction, .tag > p { max-width: 46rem; }
.introduction h2 { margin: 2.5rem 0 0.6rem; font-size: 1.2rem; }
.codes > div:last-child { border-bottom: 1px solid var(--line); }
.server { margin: 1.2rem 0; }
.server code { font-size: 0.95rem; padding: 0.35em 0.6em; }
.tag { margin-top: 4rem; }
.operation, .record { border-top: 1px solid var(--line); margin-top: 1.8rem; padding-top: 1.8rem; scroll-margin-top: 0.5rem; }
.record { max-width: 56rem; }
.operation:target h3, .record:target h3 { color: var(--accent); }
.prose { min-width: 0; max-width: 56rem; }
.route { display: flex; gap: 0.7rem; align-items: baseline; margin: 0.5rem 0 0.9rem; }
.route .method { font-size: 0.8rem; flex-basis: auto; }
.route code { font-size: 0.95rem; background: none; padding: 0; }
.example { min-width: 0; }`;

const facts = `
dl, dd { margin: 0; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 0.6rem 1.4rem; padding: 0.9rem 1rem; background: var(--panel); border-radius: 8px; font-size: 0.9rem; }
.facts dt { font-size: 0.75rem; color: var(--soft); }
.codes > div { display: grid; grid-template-columns: 19rem 1fr; gap: 0.2rem 1rem; padding: 0.45rem 0; border-top: 1px solid var(--line); font-size: 0.9rem; }
.errors .codes { margin-top: 0.5rem; }
.status { font: 700 0.8rem/1.4 ui-monospace, "DejaVu Sans Mono", monospace; color: var(--get); margin-right: 0.3rem; }
.status.error { color: var(--delete); }`;

const schemas = `
.members { list-style: none; margin: 0.4rem 0; padding: 0; border-top: 1px solid var(--line); }
.members li { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
.members li:last-child { border-bottom: 0; }
.members p, .schema > p { margin: 0; }
.member { font-size: 0.9rem; }
.member .name { font-weight: 650; font-size: 0.9rem; background: none; padding: 0; margin-right: 0.35rem; }
.type { color: var(--soft); font-size: 0.88rem; }
.place { color: var(--soft); font-size: 0.75rem; border: 1px solid var(--line); border-radius: 4px; padding: 0 0.3em; }
.required { color: var(--delete); font-size: 0.75rem; }
.optional { color: var(--soft); font-size: 0.75rem; }
.constraint { color: var(--soft); font-size: 0.78rem; }
.constraint::before { content: "· "; }
.values code { font-size: 0.78rem; margin-right: 0.25rem; }
.note { color: var(--soft); font-size: 0.86rem; }
details { margin: 0.35rem 0 0; }
summary { cursor: pointer; width: max-content; max-width: 100%; font-size: 0.84rem; color: var(--accent); }
.members details > .members { margin: 0.4rem 0 0.2rem; padding-left: 0.9rem; border-top: 0; border-left: 2px solid var(--line); }`;

const layout = `
@media (min-width: 56rem) {
  body { display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
  .side { position: sticky; top: 0; height: 100vh; overflow-y: auto; }
}
@media (min-width: 84rem) {
  .operation { display: grid; grid-template-columns: minmax(0, 1fr) 27rem; gap: 2.5rem; }
  .example > * { position: sticky; top: 3.4rem; }
  .example h4 { top: 1.2rem; margin-top: 0.3rem; }
}
@media (max-width: 55.99rem) {
  .side { border-right: 0; border-bottom: 1px solid var(--line); padding: 0.8rem 1rem; display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; }
  .brand { margin: 0; }
  label[for="menu"] { display: inline-block; border: 1px solid var(--line); border-radius: 6px; padding: 0.3rem 0.8rem; font-size: 0.9rem; }
  #menu:focus-visible + label { outline: 2px solid var(--accent); }
  nav { display: none; flex-basis: 100%; margin-top: 0.8rem; }
  #menu:checked ~ nav { display: block; }
  nav li a { padding: 0.5rem; }
  .codes > div { grid-template-columns: 1fr; }
}
@media print { .side { display: none; } }
`;

/** Served inside the page; its hash goes into the Content-Security-Policy. */
export const referencePageStyle = colours + text + navigation + content + facts + schemas + layout;
