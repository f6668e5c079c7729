// The links between two tiers by pairs: of switches, or of the pods and the groups of switches above them.
import { type Layout, NO_PEER, UNKNOWN, WHOLE } from "./fabric";
import { busier, isWrong, Shade } from "./kinds";

/** Links of a pair of switches, or of groups of them, at a place in the picture. */
export interface Pair {
  /** Of a group its first switch. */
  lower: number;
  upper: number;
  x: number;
  y: number;
  links: number;
  up: number;
  /** Highest share of a link's rate in either direction; UNKNOWN where it is not known. */
  load: number;
  /** Highest load of a link as a multiple of the mean of its row in the same direction; 0 where no load is known. */
  times: number;
  /** Most errors of a link, of either end; UNKNOWN where they are not known. */
  errors: number;
  /** Whether a link is in trouble, and whether that is more than errors. */
  wrong: boolean;
  broken: boolean;
  /** Whether a link has errors, though the last reading may have counted no more. */
  hasErrors: boolean;
  /** Links that are drained. */
  drained: number;
  /** The lower end of a link: of the first one that is in trouble, else of the first. */
  port: number;
}

export interface Pairs {
  /** Number of rows and columns that are switches, or groups. */
  lowers: number;
  uppers: number;
  /** By place: `y * w + x`. */
  pairs: Map<number, Pair>;
  w: number;
  h: number;
  usual: number;
  /** Matrices side by side: one, or one for each pod. */
  matrices: number;
  /** Whether pairs are of pods and groups. */
  grouped: boolean;
  /** What a row and a column is called, by the switch of the pair. */
  lowerName(node: number): string;
  upperName(node: number): string;
}

/** Between the matrices of two pods, cells. */
const POD_GAP = 2;
/** Mean load of a row below which a multiple of it tells nothing, in the units of loads: 1 %. */
const MEAN_MIN = WHOLE / 100;

/** Where each switch is in the picture: its row or its column. */
interface Places extends Omit<Pairs, "pairs" | "usual"> {
  x: Int32Array;
  y: Int32Array;
}

/** A link of a row, with the loads of both directions. */
interface RowLink {
  pair: Pair;
  up: number;
  down: number;
}

/** Whether the links above a tier can be shown by pods: each of its switches is in one, and those above are in none. */
export function hasGroups(nodes: Layout, tier: number): boolean {
  let [own, pods] = [true, 0];
  nodes.tiers.forEach((of, node) => {
    if (of === tier) [own, pods] = [own && nodes.pods[node] !== 0, Math.max(pods, nodes.pods[node])];
    if (of === tier + 1) own &&= nodes.pods[node] === 0;
  });
  return own && pods > 1;
}

/** The pairs between a tier and the one above, by their groups where these are asked for, with the loads, errors and kinds of all ports, and which have errors. */
export function pairsOf(nodes: Layout, tier: number, grouped: boolean, load: Uint8Array, errors: Uint8Array, shades: Uint8Array, hasErrors: (port: number) => boolean): Pairs {
  const { x, y, ...places } = grouped ? groupPlaces(nodes, tier) : switchPlaces(nodes, tier);
  const pairs = new Map<number, Pair>();
  const rows = new Map<number, RowLink[]>();
  for (let node = 0; node < nodes.nodes; node++) {
    if (nodes.tiers[node] !== tier) continue;
    const row = own(rows, grouped ? y[node] : node, () => []);
    for (let port = nodes.first[node]; port < nodes.first[node + 1]; port++) {
      const peer = nodes.peers[port];
      const other = peer === NO_PEER ? -1 : nodes.nodeOf[peer];
      if (other < 0 || nodes.tiers[other] !== tier + 1) continue;
      const pair = own(pairs, y[node] * places.w + x[other], () => ({ lower: node, upper: other, x: x[other], y: y[node], links: 0, up: 0, load: UNKNOWN, times: 0, errors: UNKNOWN, wrong: false, broken: false, hasErrors: false, drained: 0, port }));
      const ends = [shades[port], shades[peer]];
      const down = ends.some((shade) => shade === Shade.Lost || shade === Shade.Gone || shade === Shade.Disabled || shade === Shade.OutOfUse);
      const wrong = down || ends.some(isWrong);
      if (wrong && !pair.wrong) [pair.wrong, pair.port] = [true, port];
      pair.broken ||= down || ends.some((shade) => isWrong(shade) && shade !== Shade.Errors);
      pair.hasErrors ||= hasErrors(port) || hasErrors(peer);
      pair.drained += ends.includes(Shade.Drained) ? 1 : 0;
      pair.links++;
      pair.up += down ? 0 : 1;
      pair.load = busier(pair.load, busier(load[port], load[peer]));
      pair.errors = busier(pair.errors, busier(errors[port], errors[peer]));
      ends.every((shade) => shade !== Shade.Gone) && row.push({ pair, up: load[port], down: load[peer] });
    }
  }
  rows.forEach(addTimes);
  const counts = new Map<number, number>();
  pairs.forEach((pair) => counts.set(pair.links, (counts.get(pair.links) ?? 0) + 1));
  const usual = [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
  return { ...places, pairs, usual };
}

/** Compares the links of a row with their mean, each direction for itself. */
function addTimes(row: RowLink[]): void {
  for (const way of ["up", "down"] as const) {
    const known = row.filter((link) => link[way] !== UNKNOWN);
    const mean = known.reduce((sum, link) => sum + link[way], 0) / Math.max(1, known.length);
    // A row that carries next to nothing is even.
    for (const { pair, [way]: load } of known) pair.times = Math.max(pair.times, mean < MEAN_MIN ? 1 : load / mean);
  }
}

/** A row for each lower switch and a column for each upper one; a matrix for each pod where links stay within them. */
function switchPlaces(nodes: Layout, tier: number): Places {
  const [x, y] = [new Int32Array(nodes.nodes), new Int32Array(nodes.nodes)];
  const pods = new Map<number, { lower: number[]; upper: number[] }>();
  const stays = nodes.tiers.every((of, node) => of !== tier + 1 || nodes.pods[node] !== 0);
  for (let node = 0; node < nodes.nodes; node++) {
    const side = nodes.tiers[node] === tier ? "lower" : nodes.tiers[node] === tier + 1 ? "upper" : undefined;
    if (side !== undefined) own(pods, stays ? nodes.pods[node] : 0, () => ({ lower: [], upper: [] }))[side].push(node);
  }
  const across = Math.ceil(Math.sqrt(pods.size * 1.6));
  let [left, top, high, column, w, lowers, uppers] = [0, 0, 0, 0, 1, 0, 0];
  for (const { lower, upper } of pods.values()) {
    if (column === across) [left, top, high, column] = [0, top + high + POD_GAP, 0, 0];
    lower.forEach((node, at) => (y[node] = top + at));
    upper.forEach((node, at) => (x[node] = left + at));
    [lowers, uppers, w] = [lowers + lower.length, uppers + upper.length, Math.max(w, left + upper.length)];
    [left, high, column] = [left + upper.length + POD_GAP, Math.max(high, lower.length), column + 1];
  }
  const name = (node: number) => nodes.names[node];
  return { x, y, w, h: top + high, lowers, uppers, matrices: pods.size, grouped: false, lowerName: name, upperName: name };
}

/** A row for each pod, and a column for the upper switches that are cabled to the same switches below. */
function groupPlaces(nodes: Layout, tier: number): Places {
  const [x, y] = [new Int32Array(nodes.nodes), new Int32Array(nodes.nodes)];
  const rows = new Map<number, number>();
  const columns = new Map<string, number[]>();
  for (let node = 0; node < nodes.nodes; node++) {
    if (nodes.tiers[node] === tier) y[node] = own(rows, nodes.pods[node], () => rows.size);
    if (nodes.tiers[node] === tier + 1) own(columns, below(nodes, node, tier), () => []).push(node);
  }
  const groups = [...columns.values()];
  groups.forEach((group, column) => group.forEach((node) => (x[node] = column)));
  const upperName = (node: number) => {
    const group = groups[x[node]] ?? [node];
    const [first, last] = [nodes.names[group[0]], nodes.names[group[group.length - 1]]];
    return group.length === 1 ? first : `${first} … ${last} (${group.length})`;
  };
  return { x, y, w: Math.max(1, groups.length), h: rows.size, lowers: rows.size, uppers: groups.length, matrices: 1, grouped: true, lowerName: (node) => `Pod ${nodes.pods[node]}`, upperName };
}

/** The switches of a tier that one above is cabled to, as a text. */
function below(nodes: Layout, node: number, tier: number): string {
  const found = new Set<number>();
  for (const peer of nodes.peers.subarray(nodes.first[node], nodes.first[node + 1])) {
    const other = peer === NO_PEER ? -1 : nodes.nodeOf[peer];
    if (other >= 0 && nodes.tiers[other] === tier) found.add(other);
  }
  return [...found].sort((a, b) => a - b).join(" ");
}

/** What a map has at a key; made where it has nothing. */
function own<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
