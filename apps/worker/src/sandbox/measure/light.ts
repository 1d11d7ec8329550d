/**
 * Converts pixels of other colour spaces to sRGB, as a browser shows them on a screen without HDR. libvips knows profiles (ICC), but
 * not the code points of videos (ITU-T H.273). Pure functions.
 */

/** A colour space. `sdr`: the curve of sRGB, which browsers also use for BT.709. */
export const TRANSFERS = ["sdr", "pq", "hlg"] as const;
export const PRIMARIES = ["bt709", "p3", "bt2020"] as const;
export type Colors = { transfer: (typeof TRANSFERS)[number]; primaries: (typeof PRIMARIES)[number] };

export const SRGB: Colors = { transfer: "sdr", primaries: "bt709" };
export const isSrgb = ({ transfer, primaries }: Colors): boolean => transfer === "sdr" && primaries === "bt709";

/**
 * The light of HDR, in cd/m2: that of white (ITU-R BT.2408), of the brightest pixel, and of the largest signal of PQ
 * (ITU-R BT.2100).
 */
const [WHITE_NITS, MAX_NITS, PQ_NITS] = [203, 1000, 10_000];
/** The brightest light; white is 1. */
const PEAK = MAX_NITS / WHITE_NITS;

const srgbLight = (signal: number): number => (signal <= 0.04045 ? signal / 12.92 : ((signal + 0.055) / 1.055) ** 2.4);

const pqLight = (signal: number): number => {
  const [m1, m2] = [2610 / 16_384, (128 * 2523) / 4096];
  const [c1, c2, c3] = [3424 / 4096, (32 * 2413) / 4096, (32 * 2392) / 4096];
  const root = signal ** (1 / m2);
  return ((Math.max(0, root - c1) / (c2 - c3 * root)) ** (1 / m1) * PQ_NITS) / WHITE_NITS;
};

/** The light of the scene, from 0 to 1. */
const hlgLight = (signal: number): number => {
  const [a, b, c] = [0.17883277, 0.28466892, 0.55991073];
  return signal <= 0.5 ? (signal * signal) / 3 : (Math.exp((signal - c) / a) + b) / 12;
};

const LIGHT: Record<Colors["transfer"], (signal: number) => number> = { sdr: srgbLight, pq: pqLight, hlg: hlgLight };

/** From light of these primaries to that of sRGB, row by row. */
const TO_SRGB = {
  bt709: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  p3: [1.2249401, -0.2249402, 0, -0.0420569, 1.0420571, 0, -0.0196376, -0.0786361, 1.0982735],
  // ITU-R BT.2087
  bt2020: [1.660491, -0.5876411, -0.0728499, -0.1245505, 1.1328999, -0.0083494, -0.0181508, -0.1005789, 1.1187297],
} as const satisfies Record<Colors["primaries"], readonly number[]>;

/** The largest number of 16 bits. */
const MAX = 65_535;

const fill = <Values extends Float32Array | Uint8Array>(
  values: Values,
  valueFor: (share: number) => number,
): Values => {
  for (let at = 0; at <= MAX; at += 1) values[at] = valueFor(at / MAX);
  return values;
};

/** The signal of sRGB with 8 bits for light from 0 to 1. */
const srgbSignal = (light: number): number =>
  Math.round(255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055));

/**
 * The factor for light whose brightest channel is `brightest`: the reference white tone mapping operator (SMPTE ST
 * 2094-50, annex D), which Chromium uses when a file has no other one. White becomes half as bright; brighter light is
 * mapped to the rest.
 */
const toneScale = (brightest: number): number => {
  if (brightest <= 1) return 0.5;
  if (brightest >= PEAK) return 1 / brightest;
  // A Bezier curve from (1, 0.5) to (PEAK, 1).
  const [xMid, yMid] = [0.35 + 0.65 * 2, 0.35 * 0.5 + 0.65];
  const [xA, xB] = [1 - 2 * xMid + PEAK, 2 * xMid - 2];
  const t = (Math.sqrt(xB * xB + 4 * xA * (brightest - 1)) - xB) / (2 * xA);
  return (0.5 + t * (2 * yMid - 1 + t * (1.5 - 2 * yMid))) / brightest;
};

/** The factor for the light of an HLG scene: the system gamma of a screen of `MAX_NITS`. */
const sceneScale = (red: number, green: number, blue: number): number =>
  PEAK * (0.2627 * red + 0.678 * green + 0.0593 * blue) ** 0.2;

/** Pixels of sRGB with 8 bits, from pixels of `colors` with 16 bits. Three channels each. */
export const toSrgb = (pixels: Uint16Array, { transfer, primaries }: Colors): Uint8Array => {
  const light = fill(new Float32Array(MAX + 1), LIGHT[transfer]);
  const srgb = fill(new Uint8Array(MAX + 1), srgbSignal);
  const [rr, rg, rb, gr, gg, gb, br, bg, bb] = TO_SRGB[primaries];
  const result = new Uint8Array(pixels.length);
  const signal = (value: number): number => srgb[value <= 0 ? 0 : value >= 1 ? MAX : (value * MAX + 0.5) | 0] ?? 0;
  for (let at = 0; at < pixels.length; at += 3) {
    const red = light[pixels[at] ?? 0] ?? 0;
    const green = light[pixels[at + 1] ?? 0] ?? 0;
    const blue = light[pixels[at + 2] ?? 0] ?? 0;
    let scale = transfer === "hlg" ? sceneScale(red, green, blue) : 1;
    if (transfer !== "sdr") scale *= toneScale(scale * Math.max(red, green, blue));
    result[at] = signal(scale * (rr * red + rg * green + rb * blue));
    result[at + 1] = signal(scale * (gr * red + gg * green + gb * blue));
    result[at + 2] = signal(scale * (br * red + bg * green + bb * blue));
  }
  return result;
};
