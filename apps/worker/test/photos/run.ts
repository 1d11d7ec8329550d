/**
 * Measures one set of photographs, and prints the measures and how often the checks were right: `bun
 * apps/worker/test/photos/run.ts calibration|report`
 */
import { PHOTOS } from "@realtime-avatar/testing/photos";
import { accuracyTable, distributionTable, listMisses } from "./accuracy.ts";
import { measureAll } from "./measured.ts";
import { createVariations } from "./variations.ts";

const [, , set = "report", path] = process.argv;
const print = (text: string): boolean => process.stdout.write(`${text}\n`);

const variations = await createVariations(PHOTOS.filter((photo) => photo.set === set));
const measured = await measureAll(variations);
print(`${measured.length} pictures of the set "${set}".\n`);
print(`${distributionTable(measured)}\n`);
for (const { photo, group, name, isGood, checks } of listMisses(measured)) {
  const failed = Object.values(checks).filter(({ verdict }) => verdict === "fail");
  const reasons = failed.map(({ code, measured: value }) => `${code} ${value}`).join(", ");
  print(`${isGood ? "refused" : "accepted"}: ${photo}, ${group}, ${name}: ${reasons}`);
}
print(`\n${accuracyTable(measured)}`);
// For a closer look: the measures as JSON.
if (path) await Bun.write(path, JSON.stringify(measured));
