"""A LiveKit agent with an avatar. It says a tone: give it a voice of your own at the two places below."""

import array
import math
import os
from collections.abc import AsyncIterator

from livekit import rtc
from livekit.agents import Agent, AgentServer, AgentSession, JobContext, cli
from livekit.plugins import bey

RATE = 24_000


async def tone(seconds: float) -> AsyncIterator[rtc.AudioFrame]:
    """Stands in for speech, in frames of a tenth of a second."""
    for start in range(0, int(seconds * RATE), RATE // 10):
        samples = (8000 * math.sin(math.tau * 440 * at / RATE) for at in range(start, start + RATE // 10))
        yield rtc.AudioFrame(array.array("h", map(int, samples)).tobytes(), RATE, 1, RATE // 10)


server = AgentServer()


@server.rtc_session(agent_name=os.environ.get("AGENT_NAME", ""))
async def talk(ctx: JobContext) -> None:
    session = AgentSession(turn_detection="manual")  # here: AgentSession(stt=..., llm=..., tts=...)
    avatar = bey.AvatarSession(avatar_id=os.environ["AVATAR_ID"])
    await avatar.start(session, room=ctx.room)
    await session.start(agent=Agent(instructions="You are kind."), room=ctx.room)
    await session.say("Hello.", audio=tone(2))  # here: session.generate_reply()


if __name__ == "__main__":
    cli.run_app(server)
