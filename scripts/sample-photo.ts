/**
 * Writes `ada.jpg`, a photo of one face, into this folder, for the commands of the README. Keeps an existing file. The
 * photo is from the package soft-ui-dashboard: copyright 2021 Creative Tim, MIT.
 */
import { existsSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { portraitPath } from "@realtime-avatar/testing/photos";

const FILE = "ada.jpg";
const isThere = existsSync(FILE);
if (!isThere) await copyFile(portraitPath(), FILE);
process.stdout.write(
  isThere ? `${FILE} exists already.\n` : `${FILE} was written. Copyright 2021 Creative Tim, MIT licence.\n`,
);
