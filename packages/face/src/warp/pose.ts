/** The pose of a face in one picture. */

/** Shares of the largest movement from 0 to 1, unless a comment states another unit. */
export type Pose = {
  /** How far the jaw holds the lips of a speaking mouth apart, in eye distances. */
  gap: number;
  /** Corners of the mouth outwards, as in "ee". Can be slightly negative. */
  wide: number;
  /** Lips forward, as in "oo". */
  round: number;
  /** Lips pressed together, as in "p". */
  closed: number;
  /** Lower lip at the upper teeth, as in "f". */
  tuck: number;
  /** The tip of the tongue at the upper teeth, as in "th" and "l". */
  tongue: number;
  /** Lips apart, so that teeth show. */
  part: number;
  /** Corners of the mouth out and up. Negative: in and down, which takes back a smile of the photo. */
  smile: number;
  blinkLeft: number;
  blinkRight: number;
  brow: number;
  /** Angles of the head in radians: to the side, down, and towards a shoulder. */
  yaw: number;
  pitch: number;
  roll: number;
  /** The offset of the head, in pixels. */
  shiftX: number;
  shiftY: number;
  /** The breath: from -1, exhaled, to 1, inhaled; 2 for a deep breath. */
  breath: number;
  /** The offset of the irises, in pixels. */
  gazeX: number;
  gazeY: number;
  /** 0: the mouth of the photo, 1: a mouth that speaks. */
  talk: number;
};

/** The pose of the photo. */
export const REST: Pose = {
  gap: 0,
  wide: 0,
  round: 0,
  closed: 0,
  tuck: 0,
  tongue: 0,
  part: 0,
  smile: 0,
  blinkLeft: 0,
  blinkRight: 0,
  brow: 0,
  yaw: 0,
  pitch: 0,
  roll: 0,
  shiftX: 0,
  shiftY: 0,
  breath: 0,
  gazeX: 0,
  gazeY: 0,
  talk: 0,
};
