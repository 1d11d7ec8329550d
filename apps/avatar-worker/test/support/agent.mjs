/**
 * An agent in JavaScript with the plugin `bey`: speaks, is interrupted, and tells on standard output what it is told by the avatar.
 * MODULES names the folder whose `node_modules` has the packages, AGENT_NAME the agent.
 */
import { createRequire } from "node:module";
import { ReadableStream } from "node:stream/web";
import { fileURLToPath } from "node:url";

const require = createRequire(`${process.env.MODULES}/package.json`);
const { cli, defineAgent, ServerOptions, voice } = require("@livekit/agents");
const bey = require("@livekit/agents-plugin-bey");
const { AudioFrame } = require("@livekit/rtc-node");

const RATE = 24_000;
const FRAME = RATE / 10;

const tone = (seconds) =>
  new ReadableStream({
    start: (controller) => {
      for (let start = 0; start < seconds * RATE; start += FRAME) {
        const samples = Int16Array.from({ length: FRAME }, (_, at) => 8000 * Math.sin(((start + at) / RATE) * 2765));
        controller.enqueue(new AudioFrame(samples, RATE, 1, FRAME));
      }
      controller.close();
    },
  });
const tell = (event, what = {}) => process.stdout.write(`${JSON.stringify({ event, ...what })}\n`);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export default defineAgent({
  entry: async (ctx) => {
    await ctx.connect();
    const session = new voice.AgentSession({ turnDetection: "manual" });
    const avatar = new bey.AvatarSession({ avatarId: process.env.AVATAR_ID });
    await avatar.start(session, ctx.room);
    await session.start({ agent: new voice.Agent({ instructions: "You are kind." }), room: ctx.room });
    session.output.audio.on("playbackFinished", ({ playbackPosition, interrupted }) =>
      tell("finished", { position: playbackPosition, interrupted }),
    );
    await session.say("Two seconds.", { audio: tone(2) }).waitForPlayout();
    const speech = session.say("Ten seconds.", { audio: tone(10) });
    await pause(2000);
    speech.interrupt(true);
    await speech.waitForPlayout();
    await session.say("One second.", { audio: tone(1) }).waitForPlayout();
    tell("leaves");
    ctx.shutdown();
  },
});

const program = fileURLToPath(import.meta.url);
if (process.argv[1] === program)
  cli.runApp(
    new ServerOptions({
      ...{ agent: program, agentName: process.env.AGENT_NAME },
      ...{ initializeProcessTimeout: 60_000, port: 0 },
    }),
  );
