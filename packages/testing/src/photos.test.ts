import { expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { PHOTO_PACKAGES, PHOTOS, photoName, photoPath } from "./photos.ts";

test("every photograph: exists, and is listed once", async () => {
  const names = PHOTOS.map(photoName);
  expect(new Set(names).size).toBe(names.length);
  const missing: string[] = [];
  const hashes = new Map<string, string>();
  const equal: string[][] = [];
  for (const photo of PHOTOS) {
    const file = Bun.file(photoPath(photo));
    if (!(await file.exists())) {
      missing.push(photoName(photo));
      continue;
    }
    const hash = new Bun.CryptoHasher("sha256").update(await file.arrayBuffer()).digest("hex");
    const other = hashes.get(hash);
    if (other) equal.push([other, photoName(photo)]);
    hashes.set(hash, photoName(photo));
  }
  expect({ missing, equal }).toEqual({ missing: [], equal: [] });
});

test("the packages of photographs, installed: the recorded version and licence", async () => {
  for (const [name, { version, licence }] of Object.entries(PHOTO_PACKAGES)) {
    const path = Bun.resolveSync(`${name}/package.json`, import.meta.dir);
    const manifest = await Bun.file(path).json();
    expect({ name, version: manifest.version, licence: manifest.license }).toEqual({ name, version, licence });
    const texts = await Promise.all(
      ["LICENSE", "LICENSE.md"].map((file) =>
        Bun.file(join(dirname(path), file))
          .text()
          .catch(() => ""),
      ),
    );
    expect(texts.join("")).toContain("MIT License");
  }
});
