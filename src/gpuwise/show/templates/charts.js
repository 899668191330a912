// Draws every chart of a page with Vega-Lite: its own part with what all share (CHARTS), as wide as there is
// room, in the colours of the page's style. Without the library, as without scripts, their tables are opened.
"use strict";
const LIBRARY = document.currentScript.dataset.library, PHONE = matchMedia("(max-width: 46rem)");

async function draw(place) {
  const {kind, shape, tall, height, params = [], ...own} = JSON.parse(place.dataset.chart);
  const spec = {
    ...CHARTS.frame, ...CHARTS.kinds[kind], ...own, width: place.clientWidth,
    height: PHONE.matches ? tall : height, params: [{name: "narrow", value: PHONE.matches}, ...params],
    layer: CHARTS.kinds[kind].layer.map(layer =>
      shape && layer.mark.type === "point" ? {...layer, encoding: {...layer.encoding, shape}} : layer),
  };
  const drawn = document.createElement("div");
  // The interpreter of expressions needs no `eval`, which the policy of a page forbids; level 1 is errors.
  await vegaEmbed(drawn, spec, {mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false,
    tooltip: {disableDefaultStyle: true}, logLevel: 1});
  place.replaceChildren(drawn);
}

// A page of the explorer loads the library when its first chart is to be drawn; a report holds it.
const loaded = () => loaded.once ??= new Promise(done => {
  const script = document.createElement("script");
  script.onload = script.onerror = done;
  script.src = LIBRARY;
  document.head.append(script);
});

async function drawAll(within) {
  const places = [...within.querySelectorAll(".chart")].filter(place => place.clientWidth);
  if (places.length && LIBRARY) await loaded();
  for (const place of places) {
    if (window.vegaEmbed) await draw(place);
    else place.parentElement.querySelector("details")?.setAttribute("open", "");
  }
}

// A chart within what a phone folds has room once that is opened.
addEventListener("toggle", ({target}) => { if (target.open) drawAll(target); }, true);

let width = innerWidth;
addEventListener("resize", () => {
  if (width !== innerWidth) drawAll(document);
  width = innerWidth;
});
drawAll(document);
