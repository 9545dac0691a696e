"use strict";

// Draws the charts of the report and follows its switches. What a chart shows is kept in `page.charts`; after every
// change it is drawn again from there.

const page = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const every = (selector, within = document) => [...within.querySelectorAll(selector)];

// Colours are the style sheet's, so that they fit a light or a dark page, and paper.
const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
const fitted = (colour) => {
  const place = page.colours.indexOf(colour);
  return place < 0 ? colour : css(`--c${place}`);
};

function themed(trace) {
  const copy = { ...trace };
  for (const part of ["line", "marker", "error_y"]) {
    if (copy[part]?.color) copy[part] = { ...copy[part], color: fitted(copy[part].color) };
  }
  if (copy.fillcolor) copy.fillcolor = fitted(copy.fillcolor);
  if (copy.colorbar) copy.colorbar = { ...copy.colorbar, outlinewidth: 0, tickfont: { color: css("--ink") } };
  return copy;
}

function axis(given) {
  return {
    ...given,
    color: css("--ink"),
    gridcolor: css("--grid"),
    linecolor: css("--grid"),
    nticks: given.type === "log" ? 4 : 8, // with more, plotly labels all of 1 … 9 in every decade, on top of each other
    zeroline: false,
    ticks: "",
  };
}

function draw(id) {
  const element = document.getElementById(id);
  const figure = page.charts[id];
  const printing = root.classList.contains("printing");
  const narrow = element.clientWidth < 400;
  const layout = {
    height: narrow ? 290 : 340,
    ...figure.layout,
    ...(printing ? { width: element.clientWidth, height: 250 } : { autosize: true }),
    xaxis: axis(figure.layout.xaxis),
    yaxis: axis(figure.layout.yaxis),
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: css("--ink"), family: "system-ui, sans-serif", size: narrow ? 11 : 13 },
    hoverlabel: { bgcolor: css("--paper"), bordercolor: css("--grid"), font: { color: css("--ink") } },
    hovermode: "closest",
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
    margin: { l: 56, r: 24, t: 8, b: 44 },
    showlegend: false,
  };
  return Plotly.react(element, figure.data.map(themed), layout, { displayModeBar: false, responsive: true });
}

const redraw = () => every(".chart").forEach((chart) => draw(chart.id));

// Switches

function toggle(section, group, visible) {
  for (const chart of every(".chart", section)) {
    const traces = page.charts[chart.id].data.filter((trace) => trace.legendgroup === group);
    traces.forEach((trace) => (trace.visible = visible));
    if (traces.length) draw(chart.id);
  }
}

function rescale(box) {
  const scale = page.charts[box.dataset.chart].layout[`${box.dataset.log}axis`];
  scale.type = box.checked ? "log" : "linear";
  delete scale.range;
  draw(box.dataset.chart);
}

// Layer by layer

const grouped = (count) => count.toLocaleString("en-US");
const norm = (value) => (value === null ? "–" : value.toExponential(2).replace(/e([+-])(\d)$/, "e$10$2"));
const fixed = (value) => (value === null ? "–" : value.toFixed(3));

function fill(id, rows, head) {
  const table = document.getElementById(id);
  if (!table) return;
  const row = (cells, first, others) => {
    const line = document.createElement("tr");
    cells.forEach((text, place) => {
      const cell = document.createElement(place ? others : "th");
      if (cell.tagName === "TH") cell.scope = first;
      cell.textContent = text;
      line.append(cell);
    });
    return line;
  };
  if (head) table.tHead.replaceChildren(row(head, "col", "th"));
  table.tBodies[0].replaceChildren(...rows.map((cells) => row(cells, "row", "td")));
}

class Profile {
  constructor(element) {
    this.id = element.dataset.section;
    this.runs = page.profiles[this.id];
    this.slider = document.getElementById(`${this.id}-slider`);
    this.slider.addEventListener("input", () => this.move());
    element.querySelector("[data-runs]")?.addEventListener("change", (event) => this.choose(Number(event.target.value)));
    this.set(0);
  }

  set(index) {
    this.run = this.runs[index];
    for (const name of ["norms", "activations", "heat"]) {
      const id = `${this.id}-${name}`;
      const figure = this.run[`${name}_chart`];
      if (!document.getElementById(id)) continue;
      if (!figure) {
        page.charts[id] = { data: [], layout: { xaxis: {}, yaxis: {} } };
        continue;
      }
      page.charts[id] = figure;
      for (const box of every(`[data-chart="${id}"]`)) {
        const scale = figure.layout[`${box.dataset.log}axis`];
        const wanted = box.checked ? "log" : "linear";
        if (scale.type !== wanted) delete scale.range;
        scale.type = wanted;
      }
    }
  }

  choose(index) {
    this.set(index);
    this.slider.max = this.run.iterations.length - 1;
    this.slider.value = Math.min(this.slider.value, this.slider.max);
    const { layers, norms, iterations, columns } = this.run;
    const cells = layers.map((layer, i) => [layer, ...columns.map((step) => norm(norms[step][i]))]);
    fill(`${this.id}-heat-table`, cells, ["layer", ...columns.map((step) => grouped(iterations[step]))]);
    draw(`${this.id}-heat`);
    this.move();
  }

  move() {
    const { run, id } = this;
    const step = Number(this.slider.value);
    const iteration = grouped(run.iterations[step]);
    document.getElementById(`${id}-iteration`).textContent = iteration;
    this.slider.setAttribute("aria-valuetext", `iteration ${iteration}`);
    run.norms_chart.data[1].y = run.norms[step];
    draw(`${id}-norms`);
    fill(`${id}-norms-table`, run.layers.map((layer, i) => [layer, norm(run.norms[0][i]), norm(run.norms[step][i])]));
    if (!document.getElementById(`${id}-activations`)) return;
    const cells = run.activations.map((name, i) => [name, fixed(run.means[step][i]), fixed(run.stds[step][i])]);
    fill(`${id}-activations-table`, cells);
    if (run.activations_chart) {
      const [trace] = run.activations_chart.data;
      trace.y = run.means[step];
      trace.error_y.array = run.stds[step];
    }
    draw(`${id}-activations`);
  }
}

every(".profile").forEach((element) => new Profile(element));
for (const box of every("[data-group]")) {
  box.addEventListener("change", () => toggle(box.closest("section"), box.dataset.group, box.checked));
}
for (const box of every("[data-log]")) box.addEventListener("change", () => rescale(box));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("beforeprint", () => {
  root.classList.add("printing");
  redraw();
});
addEventListener("afterprint", () => {
  root.classList.remove("printing");
  redraw();
});

// One chart after the other, so that the page can be read and scrolled while they come.
const waiting = every(".chart").map((chart) => chart.id);
function drawNext() {
  if (!waiting.length) {
    root.dataset.drawn = "all";
    return;
  }
  draw(waiting.shift());
  requestAnimationFrame(() => setTimeout(drawNext));
}
requestAnimationFrame(() => setTimeout(drawNext));
