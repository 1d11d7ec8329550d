/** The inside of the mouth: the throat, the tongue and the teeth, in the light of the photo. */
import { clamp, mix, smoothstep } from "../numbers.ts";
import type { Edges } from "./edges.ts";
import { JAW_WAY } from "./fields.ts";
import type { Maps } from "./maps.ts";
import { BLACK, type Light } from "./photo/light.ts";
import type { Lips } from "./photo/lips.ts";

/** Luma and chroma. */
export type Colour = { y: number; u: number; v: number };

/** The inside in one picture. Lengths in pixels of the frame of the mouth. */
export type Inside = {
  eyeDistance: number;
  /** The middle of the mouth, and half of its width now. */
  middle: number;
  half: number;
  /** The edge of the upper teeth, which the skull holds, and of the lower teeth, which the jaw moves. */
  upperTeeth: number;
  lowerTeeth: number;
  throat: Colour;
  tongue: Colour;
  tooth: Colour;
  /** The inner side of the lips. */
  lip: Colour;
  /** How close the tip of the tongue is to the upper teeth: 1 touches them. */
  tip: number;
  /** Teeth that the photo shows are not drawn. */
  hasTeeth: boolean;
};

/** In eye distances. */
const TOOTH_WIDTH = 0.066;
const TOOTH_ARCH = 0.022;
const UPPER_EDGE = 0.024;
const LOWER_EDGE = 0.035;
/** Half of the width of the tip of the tongue, as a share of half of that of the mouth. */
const TIP_WIDTH = 0.5;
/** The share of the colour of the lips at the corners of the opening. */
const CORNER = 0.65;
/** Edges of teeth are soft over this many pixels on both sides. */
const SOFT = 1.3;

const tint = (share: number, chroma: number): number => mix(128, chroma, share);

export type InsideSource = { lips: Lips; light: Light; maps: Maps; eyeDistance: number };

/** Creates the inside of a mouth. `tip`: how close the tip of the tongue is to the upper teeth. */
export const createInside = ({ lips, light, maps, eyeDistance }: InsideSource, edges: Edges, tip: number): Inside => {
  const bright = light.skinY / 255;
  const { skinU, skinV } = light;
  return {
    eyeDistance,
    middle: edges.left + edges.width / 2,
    half: edges.width / 2,
    upperTeeth: lips.upper(0) + UPPER_EDGE * eyeDistance,
    lowerTeeth: lips.lower(0) + (JAW_WAY * maps.jaw + LOWER_EDGE) * eyeDistance,
    throat: { y: BLACK + 22 * bright, u: tint(0.3, skinU), v: tint(0.55, skinV) },
    tongue: {
      y: BLACK + 0.72 * (light.lipY - BLACK),
      u: mix(tint(0.6, skinU), light.lipU, 0.5),
      v: mix(tint(1.2, skinV), light.lipV, 0.5),
    },
    tooth: { y: BLACK + 219 * clamp(bright * 0.88), u: tint(0.45, skinU), v: tint(0.3, skinV) },
    lip: { y: BLACK + 0.65 * (light.lipY - BLACK), u: tint(0.6, light.lipU), v: tint(0.6, light.lipV) },
    tip,
    hasTeeth: light.hasTeeth,
  };
};

const blend = (colour: Colour, y: number, { u, v }: Colour, share: number): void => {
  colour.y = mix(colour.y, y, share);
  colour.u = mix(colour.u, u, share);
  colour.v = mix(colour.v, v, share);
};

/** The teeth: an arch whose middle teeth are the widest. They are darker towards the sides and under the upper lip. */
const drawTeeth = (inside: Inside, x: number, y: number, top: number, colour: Colour): void => {
  const { eyeDistance, tooth } = inside;
  const across = (x - inside.middle) / inside.half;
  const side = Math.abs(across);
  const index = (Math.sign(x) * Math.abs(x) ** 1.08) / (TOOTH_WIDTH * eyeDistance);
  const fromMiddle = Math.abs(index - Math.floor(index) - 0.5) * 2;
  const between = 1 - 0.2 * smoothstep(0.8, 1, fromMiddle);
  const arch = inside.upperTeeth - TOOTH_ARCH * eyeDistance * across ** 2;
  const edge = arch - 0.007 * eyeDistance * fromMiddle ** 4;
  const isUpper = smoothstep(SOFT, -SOFT, y - edge) * (1 - smoothstep(0.55, 0.95, side));
  const lip = mix(0.6, 1, smoothstep(0, 0.06 * eyeDistance, y - top));
  const shade = between * (1 - 0.5 * across ** 2) * lip;
  blend(colour, BLACK + (tooth.y - BLACK) * shade, tooth, isUpper);
  const lowerEdge = inside.lowerTeeth + 0.016 * eyeDistance * across ** 2;
  const isLower = 0.8 * smoothstep(-SOFT, SOFT, y - lowerEdge) * (1 - smoothstep(0.35, 0.75, side));
  blend(colour, BLACK + (tooth.y - BLACK) * 0.6 * between, tooth, isLower);
};

/** The tip of the tongue at the edge of the upper teeth, lit from above. `bottom`: the edge of the lower lip. */
export const drawTip = (inside: Inside, x: number, y: number, bottom: number, colour: Colour): void => {
  const { eyeDistance, tongue, tip, middle, half } = inside;
  const across = (x - middle) / (TIP_WIDTH * half);
  // The teeth of a smiling photo reach down to the lower lip, so the tongue is drawn in front of them.
  const edge = inside.hasTeeth ? bottom - 0.026 * eyeDistance : inside.upperTeeth - 0.012 * eyeDistance;
  const top = edge + 0.02 * eyeDistance * across ** 2;
  const soft = 1.5 * SOFT;
  const isTip = tip * smoothstep(-soft, soft, y - top) * (1 - smoothstep(0.5, 1.1, Math.abs(across)));
  if (isTip <= 0) return;
  const light = mix(1.25, 0.95, smoothstep(0, 0.05 * eyeDistance, y - top)) * (1 - 0.2 * across ** 2);
  blend(colour, BLACK + (tongue.y - BLACK) * light, tongue, isTip);
};

/** Writes the colour of a place between the lips, whose edges are at `top` and `bottom`. */
export const drawInside = (inside: Inside, x: number, y: number, top: number, bottom: number, colour: Colour): void => {
  const { eyeDistance, throat, tongue } = inside;
  const across = (x - inside.middle) / inside.half;
  const side = Math.abs(across);
  const gap = Math.max(0.5, bottom - top);
  const deep = clamp((y - top) / gap);
  // Nearly black, and a little red where light enters.
  colour.y = mix(throat.y * 0.75, throat.y, deep);
  colour.u = throat.u;
  colour.v = throat.v;
  // The tongue lies behind the lower teeth and goes down with the jaw.
  const tongueY = y + 0.045 * eyeDistance * across ** 2;
  const start = inside.lowerTeeth - 0.12 * eyeDistance;
  const isTongue = smoothstep(start, start + 0.075 * eyeDistance, tongueY) * (1 - smoothstep(0.3, 0.9, side));
  colour.y = mix(colour.y, tongue.y, 0.7 * isTongue);
  colour.u = mix(colour.u, tongue.u, isTongue);
  colour.v = mix(colour.v, tongue.v, isTongue);
  if (!inside.hasTeeth) {
    drawTeeth(inside, x, y, top, colour);
    drawTip(inside, x, y, bottom, colour);
  }
  // Near the corners, the lips meet behind the opening. There, a black inside would end in a sharp triangle.
  blend(colour, inside.lip.y, inside.lip, CORNER * smoothstep(0.7, 1, side));
  // The lips and the cheeks cast a shadow inwards.
  const toLip = Math.min(y - top + 1, (bottom - y) * 1.4 + 1);
  // Below the teeth of the photo, only a narrow part of the opening is drawn.
  const shadow = inside.hasTeeth ? 2.5 : Math.max(2.5, 0.3 * gap);
  const lips = 0.5 + 0.5 * smoothstep(0, shadow, toLip);
  colour.y = BLACK + (colour.y - BLACK) * lips * (1 - 0.5 * smoothstep(0.6, 1, side));
};
