/** A text, and the SHA-256 of its samples by each voice, as little-endian bytes. A new version of Flite changes them. */
export const TEXT = "Hello. I can say any text that you send to me.";
export const DIGESTS: Record<string, string> = {
  "flite-slt": "9554d049c370b87b66fdd426937b24446cac712c3b9c12bb686109ea8659701a",
  "flite-rms": "5cb90aa167a1ca02137e96cdaaf7dde02b4ea8ddc1da0e06bc2c50209b842360",
  "flite-awb": "59c4e026272f258f6c30f57692f6a93fb695080e610493e575dee9377dbcad64",
  "flite-kal16": "a079e0108472eafaeeea6a55372670118f392d2e5063f22a15defbf718562d01",
};
