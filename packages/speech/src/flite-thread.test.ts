import { expect, test } from "bun:test";
import { join } from "node:path";
import { speakPiece } from "./flite.ts";
import { createFliteThread } from "./flite-thread.ts";

const TEXT = "The museum opens at nine, and on Thursdays it stays open until eight.";
const PROGRAM = join(import.meta.dir, "flite-thread.testing.ts");

test("a piece, spoken on a thread: the same samples; the main thread keeps running", async () => {
  const speakOnThread = createFliteThread(PROGRAM);
  await speakOnThread("Ready.", "slt");
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const samples = await speakOnThread(TEXT, "slt");
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
  expect(samples).toEqual(await speakPiece(TEXT, "slt"));
});

test("two pieces at once: each sounds as it does alone", async () => {
  const speakOnThread = createFliteThread(PROGRAM);
  const both = await Promise.all([speakOnThread("One.", "slt"), speakOnThread("Two.", "rms")]);
  expect(both).toEqual([await speakPiece("One.", "slt"), await speakPiece("Two.", "rms")]);
});

test("an unknown voice of Flite: refused; the thread keeps running", async () => {
  const speakOnThread = createFliteThread(PROGRAM);
  expect(speakOnThread(TEXT, "no voice")).rejects.toMatchObject({ code: "voice_refused" });
  expect(await speakOnThread("One.", "slt")).toEqual(await speakPiece("One.", "slt"));
});

test("a thread that ends: its pieces are refused; the next piece starts another thread", async () => {
  const file = join(import.meta.dir, "absent.ts");
  const speakOnThread = createFliteThread(file);
  for (let piece = 0; piece < 2; piece++) {
    expect(await speakOnThread(TEXT, "slt").catch((error) => error)).toMatchObject({ code: "voice_refused" });
  }
});
