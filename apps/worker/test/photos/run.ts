/**
 * Measures one set of photographs, and prints what was measured and how often the checks were right:
 * `bun apps/worker/test/photos/run.ts calibration|report`
 */
import { PHOTOS } from "@realtime-avatar/testing/photos";
import { distributionOf, missesOf, tableOf } from "./accuracy.ts";
import { measureAll } from "./measured.ts";
import { variationsOf } from "./variations.ts";

const [, , set = "report", path] = process.argv;
const print = (text: string): boolean => process.stdout.write(`${text}\n`);

const variations = await variationsOf(PHOTOS.filter((photo) => photo.set === set));
const measured = await measureAll(variations);
print(`${measured.length} pictures of the set "${set}".\n`);
print(`${distributionOf(measured)}\n`);
for (const { photo, group, name, isGood, checks } of missesOf(measured)) {
  const failed = Object.values(checks).filter(({ verdict }) => verdict === "fail");
  const reasons = failed.map(({ code, measured: value }) => `${code} ${value}`).join(", ");
  print(`${isGood ? "refused" : "accepted"}: ${photo}, ${group}, ${name}: ${reasons}`);
}
print(`\n${tableOf(measured)}`);
// For a closer look: what was measured, as JSON.
if (path) await Bun.write(path, JSON.stringify(measured));
