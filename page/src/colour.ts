// The colour scales in use; d3's own, behind one import.
export { interpolateCividis } from "d3-scale-chromatic";
export { interpolateRgbBasis } from "d3-interpolate";
