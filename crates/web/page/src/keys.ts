// Keys that more than one picture takes.

/** Directions of the arrow keys: to the right, and down. */
export const ARROWS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
