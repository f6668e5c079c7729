// Draws all ports at once: a square for each, its colour from a palette by one byte.
//
// Squares have corners of their own in place of being instances of one: a renderer in software takes as long for an instance as
// for a call, seconds for 165,888.
import { KINDS, RAMP_STEPS, Shade } from "./kinds";
import { colorOf, ground } from "./palette";
import type { Picture } from "./picture";

const VERTEX = `#version 300 es
precision highp float;
in vec4 box;
in uint shade;
uniform vec2 center;
uniform vec2 scale;
uniform float pixels;
uniform float lift;
uniform sampler2D palette;
flat out vec4 color;
flat out float shape;
flat out float side;
out vec2 place;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, (gl_VertexID >> 1) & 1);
  vec4 found = texelFetch(palette, ivec2(int(shade), 0), 0);
  vec4 about = texelFetch(palette, ivec2(int(shade), 1), 0);
  color = vec4(found.rgb, 1.0);
  shape = floor(about.r * 255.0 + 0.5);
  // What is wrong is never smaller than can be seen, and before everything else.
  float wrong = about.g;
  vec2 size = box.zw;
  float inset = about.b > 0.5 ? 0.0 : 0.2 * clamp((pixels - 2.0) / 3.0, 0.0, 1.0);
  vec2 own = size - inset;
  vec2 least = vec2(wrong > 0.5 ? lift / pixels : 0.0);
  vec2 shown = max(own, least);
  vec2 at = box.xy + size * 0.5 + (corner - 0.5) * shown;
  side = min(shown.x, shown.y) * pixels;
  place = corner * 2.0 - 1.0;
  gl_Position = vec4((at - center) * scale, about.b > 0.5 ? 0.6 : 0.3 - wrong * 0.6, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 color;
flat in float shape;
flat in float side;
in vec2 place;
out vec4 drawn;
void main() {
  vec2 p = abs(place);
  if (side >= 6.0) {
    if (shape == 1.0 && p.x + p.y > 1.0) discard;
    if (shape == 2.0 && max(p.x, p.y) < 0.55) discard;
    if (shape == 3.0 && abs(p.x - p.y) > 0.42) discard;
    if (shape == 4.0 && (place.y - 1.0) * 0.5 + p.x > 0.0) discard;
  }
  drawn = color;
}`;

/** Shapes by kind: 0 a square, 1 a diamond, 2 a frame, 3 a cross, 4 a triangle. */
export const SHAPES: Record<number, number> = {
  [Shade.Lost]: 3,
  [Shade.Gone]: 1,
  [Shade.Disabled]: 2,
  [Shade.OutOfUse]: 2,
  [Shade.Slow]: 4,
  [Shade.Errors]: 1,
  [Shade.Flapping]: 1,
  [Shade.Drained]: 2,
};

/** Attributes. */
const [BOX, SHADE] = [0, 1];
/** Corners of a square, and those of its two triangles. */
const CORNERS = 4;
const TRIANGLES = [0, 1, 2, 2, 1, 3];
/** The colour of a square at all of its corners. */
const EACH_CORNER = 0x01010101;
/** What is wrong is at least so large, pixels. */
const LIFT = 9;

/** What part of the picture is seen: its middle, and pixels of the screen for each unit. */
export interface Camera {
  x: number;
  y: number;
  zoom: number;
}

/** Bytes of a box: four numbers. */
const BOX_BYTES = 16;
const PALETTE_SIZE = 256;

export class Drawing {
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private readonly vertices: WebGLVertexArrayObject;
  private readonly boxBuffer: WebGLBuffer;
  private readonly shadeBuffer: WebGLBuffer;
  private readonly indexBuffer: WebGLBuffer;
  /** Four bytes for each square, one for each corner. */
  private shades = new Uint32Array(0);
  private grounds = 0;
  private back = [0, 0, 0];

  /** Throws where the browser has no WebGL2. */
  constructor(canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
    if (gl === null) {
      throw new Error("this browser has no WebGL2: the tables show the same");
    }
    this.gl = gl;
    this.program = programOf(gl);
    this.vertices = gl.createVertexArray();
    [this.boxBuffer, this.shadeBuffer, this.indexBuffer] = [gl.createBuffer(), gl.createBuffer(), gl.createBuffer()];
    gl.bindVertexArray(this.vertices);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.indexBuffer);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.boxBuffer);
    gl.enableVertexAttribArray(BOX);
    gl.vertexAttribPointer(BOX, 4, gl.FLOAT, false, BOX_BYTES, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.shadeBuffer);
    gl.enableVertexAttribArray(SHADE);
    gl.vertexAttribIPointer(SHADE, 1, gl.UNSIGNED_BYTE, 1, 0);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) {
      gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    }
  }

  /** Takes another fabric: grounds of pods, of tiles, and a cell for each port. */
  take(picture: Picture): void {
    const { gl } = this;
    const { layout } = picture;
    const pods = picture.parts.filter((part) => part.isPod);
    const tiles = picture.boxes.filter((_, node) => layout.isSwitch(node));
    this.grounds = pods.length + tiles.length;
    const squares = this.grounds + layout.ports;
    const boxes = new Float32Array(squares * CORNERS * 4);
    let at = 0;
    const add = (...box: [number, number, number, number]) => {
      for (let corner = 0; corner < CORNERS; corner++, at += 4) boxes.set(box, at);
    };
    pods.forEach(({ x, y, w, h }) => add(x - 1, y, w + 2, h + 1));
    tiles.forEach(({ x, y, w, h }) => add(x - 0.4, y - 0.4, w + 0.8, h + 0.8));
    for (let port = 0; port < layout.ports; port++) {
      const cell = picture.cell(port);
      add(cell.x, cell.y, 1, 1);
    }
    this.shades = new Uint32Array(squares);
    this.shades.fill(Shade.Pod * EACH_CORNER, 0, pods.length).fill(Shade.Tile * EACH_CORNER, pods.length, this.grounds);
    const indices = Uint32Array.from({ length: squares * TRIANGLES.length }, (_, at) => Math.floor(at / TRIANGLES.length) * CORNERS + TRIANGLES[at % TRIANGLES.length]);
    gl.bindVertexArray(this.vertices);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.boxBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, boxes, gl.STATIC_DRAW);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.shadeBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, this.shades, gl.DYNAMIC_DRAW);
  }

  /** Takes the colours of all ports. */
  paint(shades: Uint8Array): void {
    if (shades.length + this.grounds !== this.shades.length) {
      return;
    }
    shades.forEach((shade, port) => (this.shades[this.grounds + port] = shade * EACH_CORNER));
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.shadeBuffer);
    this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, this.shades);
  }

  /** Takes the colours of a theme. */
  dress(dark: boolean): void {
    const { gl } = this;
    const data = new Uint8Array(PALETTE_SIZE * 2 * 4);
    const set = (shade: number, wrong: boolean, isGround: boolean) => {
      data.set([...colorOf(shade, dark), 255], shade * 4);
      data.set([SHAPES[shade] ?? 0, wrong ? 255 : 0, isGround ? 255 : 0, 255], (PALETTE_SIZE + shade) * 4);
    };
    KINDS.forEach((kind) => set(kind.shade, kind.wrong || kind.shade === Shade.Disabled, false));
    for (let step = 0; step < RAMP_STEPS; step++) set(Shade.Ramp + step, false, false);
    set(Shade.Unknown, false, false);
    set(Shade.Pod, false, true);
    set(Shade.Tile, false, true);
    this.back = ground(dark).map((part) => part / 255);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, PALETTE_SIZE, 2, 0, gl.RGBA, gl.UNSIGNED_BYTE, data);
  }

  draw(camera: Camera, ratio: number): void {
    const { gl, program } = this;
    const [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    gl.viewport(0, 0, w, h);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.clearColor(this.back[0], this.back[1], this.back[2], 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const pixels = camera.zoom * ratio;
    const uniform = (name: string) => gl.getUniformLocation(program, name);
    gl.useProgram(program);
    gl.uniform2f(uniform("center"), camera.x, camera.y);
    gl.uniform2f(uniform("scale"), (2 * pixels) / w, (-2 * pixels) / h);
    gl.uniform1f(uniform("pixels"), pixels);
    gl.uniform1f(uniform("lift"), LIFT * ratio);
    gl.bindVertexArray(this.vertices);
    gl.drawElements(gl.TRIANGLES, this.shades.length * TRIANGLES.length, gl.UNSIGNED_INT, 0);
  }
}

function programOf(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
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
