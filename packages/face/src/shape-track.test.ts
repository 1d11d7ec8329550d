import { expect, test } from "bun:test";
import { createShapeTrack, SILENT } from "./shape-track.ts";

/**
 * The mouth of a picture and the search for speech read at most this many milliseconds before and after the picture.
 */
const READ_MS = 500;

test("a track that drops old shapes before each picture: the same shapes around the picture", () => {
  const [whole, short] = [createShapeTrack(), createShapeTrack()];
  for (let timeMs = 0; timeMs < 5000; timeMs += 10) {
    const shape = { ...SILENT, open: (timeMs % 970) / 970 };
    whole.add(timeMs + 0.5, shape);
    short.add(timeMs + 0.5, shape);
  }
  for (let pictureMs = 0; pictureMs < 4000; pictureMs += 40) {
    short.forgetBefore(pictureMs);
    for (let timeMs = pictureMs - READ_MS; timeMs < pictureMs + READ_MS; timeMs += 10)
      expect(short.at(timeMs)).toEqual(whole.at(timeMs));
  }
  expect(short.size()).toBeLessThan(whole.size());
});
