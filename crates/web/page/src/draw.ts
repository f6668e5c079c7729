// Draws all ports at once.
//
// Where a cell of the picture is and what it shows is looked up for each pixel of the screen, so that the time for a frame hardly
// grows with the fabric: a renderer in software takes two to three times as long for a square of each of 165,888 ports. Squares are
// left to the grounds of pods and switches, and to ports that are larger than their cells or have a shape.
import { isWrong, KINDS, RAMP_STEPS, Shade } from "./kinds";
import { colorOf, ground } from "./palette";
import type { Box, Picture } from "./picture";

/** Where a place of the picture is on the screen. */
const PLACED = `#version 300 es
precision highp float;
uniform vec2 center;
uniform vec2 scale;
vec4 placed(vec2 at) {
  return vec4((at - center) * scale, 0.0, 1.0);
}`;

const SQUARE_VERTEX = `${PLACED}
in vec4 box;
in uint shade;
uniform float pixels;
uniform float inset;
uniform float lift;
uniform sampler2D palette;
flat out vec4 color;
flat out vec4 rim;
flat out float shape;
flat out float side;
out vec2 place;
void main() {
  int number = gl_VertexID % 6;
  vec2 corner = vec2(number == 1 || number > 3, number == 2 || number == 3 || number == 5);
  vec4 found = texelFetch(palette, ivec2(int(shade), 0), 0);
  vec4 about = texelFetch(palette, ivec2(int(shade), 1), 0);
  color = vec4(found.rgb, 1.0);
  rim = vec4(texelFetch(palette, ivec2(${Shade.Drained}, 0), 0).rgb, 1.0);
  shape = floor(about.r * 255.0 + 0.5);
  // What is wrong is never smaller than can be seen.
  vec2 own = box.zw - (about.b > 0.5 ? 0.0 : 2.0 * inset);
  vec2 shown = max(own, vec2(about.g > 0.5 ? lift / pixels : 0.0));
  side = min(shown.x, shown.y) * pixels;
  place = corner * 2.0 - 1.0;
  gl_Position = placed(box.xy + box.zw * 0.5 + (corner - 0.5) * shown);
}`;

const SQUARE_FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 color;
flat in vec4 rim;
flat in float shape;
flat in float side;
in vec2 place;
out vec4 drawn;
void main() {
  vec2 p = abs(place);
  bool isRim = max(p.x, p.y) >= 0.55;
  if (side >= 4.0 && shape == 2.0 && !isRim) discard;
  if (side >= 6.0) {
    if ((shape == 1.0 || shape == 6.0) && p.x + p.y > 1.0) discard;
    if (shape == 6.0 && p.x + p.y < 0.5) discard;
    if (shape == 3.0 && abs(p.x - p.y) > 0.42) discard;
    // The second coordinate grows downwards.
    if (shape == 4.0 && p.x > (1.0 + place.y) * 0.5) discard;
    if (shape == 8.0 && p.x > (1.0 - place.y) * 0.5) discard;
    if (shape == 5.0 && min(p.x, p.y) > 0.34) discard;
    if (shape == 7.0 && p.y > 0.34) discard;
    if (shape == 10.0 && p.x > p.y) discard;
  }
  drawn = side >= 4.0 && shape == 9.0 && isRim ? rim : color;
}`;

const CELLS_VERTEX = `${PLACED}
uniform vec2 size;
out vec2 at;
void main() {
  at = vec2(gl_VertexID & 1, gl_VertexID >> 1) * size;
  gl_Position = placed(at);
}`;

/** Cells are rows of the picture, one after the other, in rows of a texture. */
const CELLS_FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
in vec2 at;
uniform vec2 size;
uniform float reach;
uniform usampler2D cells;
uniform sampler2D palette;
out vec4 drawn;
void main() {
  ivec2 cell = ivec2(at);
  int number = cell.y * int(size.x) + cell.x;
  uint shade = texelFetch(cells, ivec2(number & 2047, number >> 11), 0).r;
  vec2 p = abs(fract(at) - 0.5);
  if (shade == 255u || max(p.x, p.y) > reach) discard;
  drawn = texelFetch(palette, ivec2(int(shade), 0), 0);
}`;

/** Cells in a row of the texture, as CELLS_FRAGMENT has it: no WebGL2 has fewer. */
const TEXTURE_WIDE = 2048;
/** A cell without a port, or with one that has a square of its own, as CELLS_FRAGMENT has it. */
const NOTHING = 255;

/** Shapes by kind, each of one alone: 1 a diamond, 2 a frame, 3 a cross, 4 a triangle, 5 a plus, 6 a hollow diamond, 7 a bar, 8 a
 * triangle upside down, 10 two triangles tip to tip. page.css has the same for the legend. */
const SHAPES: Record<number, number> = {
  [Shade.Errors]: 1,
  [Shade.Drained]: 2,
  [Shade.Lost]: 3,
  [Shade.Slow]: 4,
  [Shade.Gone]: 5,
  [Shade.Flapping]: 6,
  [Shade.Disabled]: 7,
  [Shade.OutOfUse]: 8,
  [Shade.Other]: 10,
};
/** A square with the frame of what is drained. */
export const FRAMED = 9;

/** The shape of a place in the palette; 0 is a square. */
export function shapeOf(shade: number): number {
  return shade >= Shade.DrainedRamp && shade < Shade.DrainedRamp + RAMP_STEPS ? FRAMED : (SHAPES[shade] ?? 0);
}

/** Attributes. */
const [BOX, SHADE] = [0, 1];
/** Corners of the two triangles of a square. */
const CORNERS = 6;
/** What is wrong is at least so large, pixels. */
const LIFT = 9;

/** What part of the picture is seen: its middle, and pixels of the screen for each unit. */
export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

/** Place of a port that has a square, since its cell is another's or outside: of the second port of a host, for one. */
const NO_CELL = 0xffffffff;
/** Bytes of a box: four numbers. */
const BOX_BYTES = 16;
const PALETTE_SIZE = 256;

interface Square {
  box: Box;
  shade: number;
}

export class Drawing {
  private readonly gl: WebGL2RenderingContext;
  private readonly squares: WebGLProgram;
  private readonly cells: WebGLProgram;
  private readonly boxBuffer: WebGLBuffer;
  private readonly shadeBuffer: WebGLBuffer;
  private picture: Picture | undefined;
  private grounds: Square[] = [];
  /** How many ports have a square. */
  private marked = 0;
  /** Of all ports, the place of its cell, NO_CELL of some; and what each cell shows. */
  private places = new Uint32Array(0);
  private shown = new Uint8Array(0);
  private back = [0, 0, 0];

  /** Throws where the browser has no WebGL2. */
  constructor(canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, depth: false });
    if (gl === null) {
      throw new Error("this browser has no WebGL2: the tables show the same");
    }
    this.gl = gl;
    this.squares = programOf(gl, SQUARE_VERTEX, SQUARE_FRAGMENT);
    this.cells = programOf(gl, CELLS_VERTEX, CELLS_FRAGMENT);
    [this.boxBuffer, this.shadeBuffer] = [gl.createBuffer(), gl.createBuffer()];
    gl.bindBuffer(gl.ARRAY_BUFFER, this.boxBuffer);
    gl.enableVertexAttribArray(BOX);
    gl.vertexAttribPointer(BOX, 4, gl.FLOAT, false, BOX_BYTES, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.shadeBuffer);
    gl.enableVertexAttribArray(SHADE);
    gl.vertexAttribIPointer(SHADE, 1, gl.UNSIGNED_BYTE, 1, 0);
    for (const unit of [gl.TEXTURE1, gl.TEXTURE0]) {
      gl.activeTexture(unit);
      gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
      for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
        gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
      }
    }
    gl.useProgram(this.cells);
    gl.uniform1i(gl.getUniformLocation(this.cells, "cells"), 1);
  }

  /** Takes another fabric: grounds of pods, of switches, and a cell for each port. */
  take(picture: Picture): void {
    const { layout, w, h } = picture;
    this.picture = picture;
    const pods = picture.parts.filter((part) => part.isPod).map(({ x, y, w, h }) => ({ box: { x: x - 1, y, w: w + 2, h: h + 1 }, shade: Shade.Pod }));
    const tiles = picture.boxes.filter((_, node) => layout.isSwitch(node)).map(({ x, y, w, h }) => ({ box: { x: x - 0.4, y: y - 0.4, w: w + 0.8, h: h + 0.8 }, shade: Shade.Tile }));
    this.grounds = [...pods, ...tiles];
    this.places = new Uint32Array(layout.ports);
    const taken = new Uint8Array(w * h);
    for (let port = 0; port < layout.ports; port++) {
      const { x, y } = picture.cell(port);
      const at = y * w + x;
      const isOwn = x < w && taken[at] === 0;
      this.places[port] = isOwn ? at : NO_CELL;
      taken[at] = 1;
    }
    this.shown = new Uint8Array(Math.ceil((w * h) / TEXTURE_WIDE) * TEXTURE_WIDE).fill(NOTHING);
    this.paint(new Uint8Array(layout.ports).fill(NOTHING));
  }

  /** Takes the colours of all ports. */
  paint(shades: Uint8Array): void {
    const { gl, picture, places, shown } = this;
    if (picture === undefined || shades.length !== places.length) {
      return;
    }
    // What is wrong is drawn last, before everything else.
    const [calm, wrong]: [Square[], Square[]] = [[], []];
    shades.forEach((shade, port) => {
      const isMarked = isWrong(shade) || shapeOf(shade) !== 0 || places[port] === NO_CELL;
      shown[places[port]] = isMarked ? NOTHING : shade;
      if (isMarked) (isWrong(shade) ? wrong : calm).push({ box: picture.cell(port), shade });
    });
    const squares = [...this.grounds, ...calm, ...wrong];
    this.marked = squares.length - this.grounds.length;
    const [boxes, colors] = [new Float32Array(squares.length * CORNERS * 4), new Uint8Array(squares.length * CORNERS)];
    for (let corner = 0; corner < colors.length; corner++) {
      const { box, shade } = squares[Math.floor(corner / CORNERS)];
      [boxes[corner * 4], boxes[corner * 4 + 1], boxes[corner * 4 + 2], boxes[corner * 4 + 3]] = [box.x, box.y, box.w, box.h];
      colors[corner] = shade;
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.boxBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, boxes, gl.DYNAMIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.shadeBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, colors, gl.DYNAMIC_DRAW);
    gl.activeTexture(gl.TEXTURE1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8UI, TEXTURE_WIDE, shown.length / TEXTURE_WIDE, 0, gl.RED_INTEGER, gl.UNSIGNED_BYTE, shown);
    gl.activeTexture(gl.TEXTURE0);
  }

  /** Takes the colours of a theme. */
  dress(dark: boolean): void {
    const { gl } = this;
    const data = new Uint8Array(PALETTE_SIZE * 2 * 4);
    const set = (shade: number, wrong: boolean, isGround: boolean) => {
      data.set([...colorOf(shade, dark), 255], shade * 4);
      data.set([shapeOf(shade), wrong ? 255 : 0, isGround ? 255 : 0, 255], (PALETTE_SIZE + shade) * 4);
    };
    KINDS.forEach((kind) => set(kind.shade, kind.wrong || kind.shade === Shade.Disabled, false));
    for (let step = 0; step < RAMP_STEPS; step++) {
      set(Shade.Ramp + step, false, false);
      set(Shade.DrainedRamp + step, false, false);
    }
    set(Shade.Unknown, false, false);
    set(Shade.Pod, false, true);
    set(Shade.Tile, false, true);
    this.back = ground(dark).map((part) => part / 255);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, PALETTE_SIZE, 2, 0, gl.RGBA, gl.UNSIGNED_BYTE, data);
  }

  draw(camera: Camera, ratio: number): void {
    const { gl, picture } = this;
    const [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    gl.viewport(0, 0, w, h);
    gl.clearColor(this.back[0], this.back[1], this.back[2], 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (picture === undefined) return;
    const pixels = camera.zoom * ratio;
    // Between ports there is ground to be seen where there are pixels for it.
    const inset = 0.1 * Math.min(1, Math.max(0, (pixels - 2) / 3));
    const begin = (program: WebGLProgram) => {
      const uniform = (name: string) => gl.getUniformLocation(program, name);
      gl.useProgram(program);
      gl.uniform2f(uniform("center"), camera.x, camera.y);
      gl.uniform2f(uniform("scale"), (2 * pixels) / w, (-2 * pixels) / h);
      gl.uniform1f(uniform("pixels"), pixels);
      gl.uniform1f(uniform("lift"), LIFT * ratio);
      gl.uniform1f(uniform("inset"), inset);
      gl.uniform1f(uniform("reach"), 0.5 - inset);
      gl.uniform2f(uniform("size"), picture.w, picture.h);
    };
    const grounds = this.grounds.length * CORNERS;
    begin(this.squares);
    gl.drawArrays(gl.TRIANGLES, 0, grounds);
    begin(this.cells);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    begin(this.squares);
    gl.drawArrays(gl.TRIANGLES, grounds, this.marked * CORNERS);
  }
}

function programOf(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(kind);
    if (shader === null) {
      throw new Error("the graphics context is lost: load the page again");
    }
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  [[BOX, "box"], [SHADE, "shade"]].forEach(([at, name]) => gl.bindAttribLocation(program, Number(at), String(name)));
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    throw new Error(`the picture cannot be drawn here: ${gl.getProgramInfoLog(program)}`);
  }
  return program;
}
