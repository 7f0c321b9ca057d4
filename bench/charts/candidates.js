// What is measured inside the browser: each way of drawing a million dots mounts a chart, and then shows one stretch of time after another.
// A chart answers `show(begin, end)` with a promise that is kept when it has handed its picture to the browser.

import * as echarts from "echarts";
import createScatterplot from "regl-scatterplot";
import uPlot from "uplot";

const WIDTH = 1240;
const HEIGHT = 480;
const COLOURS = ["#c8400a", "#0b63a5", "#00795a", "#a8327d", "#5f6670"];

/** Dots like those of a start: sorted by time, in runs of neighbouring pages, of five kinds. The same each time. */
export function dots(count) {
  let state = 12345;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const times = new Float64Array(count);
  const places = new Float64Array(count);
  const kinds = new Uint8Array(count);
  let place = 0;
  for (let row = 0; row < count; row += 1) {
    if (random() < 0.2) place = random() * 40000;
    place = (place + 1) % 40000;
    times[row] = (row + random()) * (1e9 / count);
    places[row] = Math.floor(place);
    kinds[row] = Math.floor(random() * 5);
  }
  return { times, places, kinds, count };
}

function firstIn(times, moment) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

function uplotOptions(extra) {
  return {
    width: WIDTH,
    height: HEIGHT,
    scales: { x: { time: false, min: 0, max: 1e9 }, y: { range: [0, 40000] } },
    legend: { show: false },
    cursor: { drag: { x: true, y: true } },
    ...extra,
  };
}

/** uPlot with its own point drawing: a series for each kind, one arc for each dot. */
function uplotPoints(parent, data) {
  const series = COLOURS.map((colour) => ({ paths: () => null, points: { show: true, size: 3, fill: colour, stroke: colour, width: 0 } }));
  const columns = COLOURS.map((_, kind) => Array.from(data.places, (place, row) => (data.kinds[row] === kind ? place : undefined)));
  const chart = new uPlot(uplotOptions({ series: [{}, ...series] }), [data.times, ...columns], parent);
  return async (begin, end) => chart.setScale("x", { min: begin, max: end });
}

/** uPlot for axes, scales, cursor and selection; the dots go pixel by pixel into a picture of ours. */
function uplotRaster(parent, data) {
  const words = new Uint32Array(COLOURS.map((colour) => 0xff000000 | (parseInt(colour.slice(5, 7), 16) << 16) | (parseInt(colour.slice(3, 5), 16) << 8) | parseInt(colour.slice(1, 3), 16)));
  let image;
  let pixels;
  const layer = document.createElement("canvas");
  const draw = (chart) => {
    const { left, top, width, height } = chart.bbox;
    if (!image || image.width !== width || image.height !== height) {
      image = new ImageData(width, height);
      pixels = new Uint32Array(image.data.buffer);
      layer.width = width;
      layer.height = height;
    }
    pixels.fill(0);
    const { min, max } = chart.scales.x;
    const across = width / (max - min);
    const up = height / 40000;
    const last = firstIn(data.times, max);
    for (let row = firstIn(data.times, min); row < last; row += 1) {
      const x = ((data.times[row] - min) * across) | 0;
      const y = (height - data.places[row] * up) | 0;
      const word = words[data.kinds[row]];
      // Three pixels square, cut off at the edges.
      const right = Math.min(x + 2, width);
      const bottom = Math.min(y + 2, height);
      for (let line = Math.max(y - 1, 0); line < bottom; line += 1) {
        for (let column = Math.max(x - 1, 0); column < right; column += 1) pixels[line * width + column] = word;
      }
    }
    layer.getContext("2d").putImageData(image, 0, 0);
    chart.ctx.drawImage(layer, left, top);
  };
  const chart = new uPlot(uplotOptions({ series: [{}, { paths: () => null, points: { show: false } }], hooks: { draw: [draw] } }), [[0, 1e9], [0, 40000]], parent);
  return async (begin, end) => chart.setScale("x", { min: begin, max: end });
}

/** echarts: scatter series in large mode, which draws without an object for each dot. */
function echartsLarge(parent, data) {
  const chart = echarts.init(parent, null, { renderer: "canvas", width: WIDTH, height: HEIGHT });
  const series = COLOURS.map((colour, kind) => {
    const flat = [];
    for (let row = 0; row < data.count; row += 1) if (data.kinds[row] === kind) flat.push(data.times[row], data.places[row]);
    return { type: "scatter", large: true, largeThreshold: 0, progressive: 0, symbolSize: 3, itemStyle: { color: colour }, data: new Float64Array(flat), dimensions: ["x", "y"] };
  });
  chart.setOption({
    animation: false,
    xAxis: { type: "value", min: 0, max: 1e9 },
    yAxis: { type: "value", min: 0, max: 40000 },
    dataZoom: [{ type: "inside", xAxisIndex: 0, filterMode: "none", throttle: 0 }],
    series,
  });
  return async (begin, end) => {
    chart.dispatchAction({ type: "dataZoom", startValue: begin, endValue: end });
  };
}

/** regl-scatterplot: WebGL, where there is no GPU drawn by SwiftShader if the browser lets it. */
async function reglScatterplot(parent, data) {
  const canvas = document.createElement("canvas");
  canvas.style.width = `${WIDTH}px`;
  canvas.style.height = `${HEIGHT}px`;
  parent.append(canvas);
  const chart = createScatterplot({ canvas, width: WIDTH, height: HEIGHT, pointSize: 3, colorBy: "valueA", pointColor: COLOURS, opacity: 1 });
  const x = Float32Array.from(data.times, (time) => time / 5e8 - 1);
  const y = Float32Array.from(data.places, (place) => place / 20000 - 1);
  await chart.draw({ x, y, z: Float32Array.from(data.kinds) });
  // One pixel read back: the picture is there only when the drawing, done elsewhere, has ended. The two axes cannot be zoomed apart:
  // what is shown is as high as it is wide.
  return async (begin, end) => {
    await chart.zoomToArea({ x: begin / 5e8 - 1, width: (end - begin) / 5e8, y: -1, height: (end - begin) / 5e8 }, { transition: false });
    canvas.getContext("2d").getImageData(0, 0, 1, 1);
  };
}

const CANDIDATES = { "uplot-points": uplotPoints, "uplot-raster": uplotRaster, "echarts-large": echartsLarge, "regl-scatterplot": reglScatterplot };

/** Time of the first picture, and of each frame while a tenth, a half and all of the time is moved along. Milliseconds. */
window.measure = async (name, count, frames) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const data = dots(count);
  const parent = document.body.appendChild(document.createElement("div"));
  await frame();
  const begun = performance.now();
  const show = await CANDIDATES[name](parent, data);
  await frame();
  await frame();
  const first = performance.now() - begun;
  const pan = {};
  for (const width of [1e8, 5e8, 1e9]) {
    const times = [];
    await show(0, width);
    await frame();
    let before = performance.now();
    for (let step = 1; step <= frames; step += 1) {
      const begin = width < 1e9 ? ((1e9 - width) * step) / frames : step * 1e4;
      await show(begin, begin + width);
      await frame();
      const now = performance.now();
      times.push(now - before);
      before = now;
    }
    times.sort((one, other) => one - other);
    pan[`${width / 1e7}%`] = times[times.length >> 1];
  }
  return { first, pan };
};
