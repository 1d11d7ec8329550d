"""
An agent with the oldest release of the plugin `bey`: speaks, is interrupted, and tells on standard output what it is told by the
avatar. AGENT_NAME is the name of the agent.
"""

import array
import asyncio
import json
import math
import os
from collections.abc import AsyncIterator

from livekit import rtc
from livekit.agents import Agent, AgentSession, JobContext, JobExecutorType, WorkerOptions, cli
from livekit.plugins import bey

RATE = 24_000


async def tone(seconds: float) -> AsyncIterator[rtc.AudioFrame]:
    """Stands in for speech, in frames of a tenth of a second."""
    for start in range(0, int(seconds * RATE), RATE // 10):
        samples = (8000 * math.sin(math.tau * 440 * at / RATE) for at in range(start, start + RATE // 10))
        yield rtc.AudioFrame(array.array("h", map(int, samples)).tobytes(), RATE, 1, RATE // 10)


def tell(event: str, **what: object) -> None:
    print(json.dumps({"event": event, **what}), flush=True)


async def talk(ctx: JobContext) -> None:
    await ctx.connect()
    session = AgentSession(turn_detection="manual")
    avatar = bey.AvatarSession(avatar_id=os.environ["AVATAR_ID"])
    await avatar.start(session, room=ctx.room)
    await session.start(agent=Agent(instructions="You are kind."), room=ctx.room)
    session.output.audio.on(
        "playback_finished",
        lambda end: tell("finished", position=end.playback_position, interrupted=end.interrupted),
    )
    await session.say("Two seconds.", audio=tone(2))
    speech = session.say("Ten seconds.", audio=tone(10))
    await asyncio.sleep(2)
    speech.interrupt()
    await speech
    await session.say("One second.", audio=tone(1))
    tell("leaves")
    ctx.shutdown()


if __name__ == "__main__":
    # LiveKit gives no job to a worker that says that its machine is busy.
    cli.run_app(
        WorkerOptions(
            entrypoint_fnc=talk,
            agent_name=os.environ["AGENT_NAME"],
            job_executor_type=JobExecutorType.THREAD,
            load_fnc=lambda: 0.0,
        )
    )
