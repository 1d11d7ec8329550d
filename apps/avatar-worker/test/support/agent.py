"""Runs examples/agent, lets it speak and be interrupted, and tells on standard output what LiveKit's agents are told by the avatar."""

import asyncio
import json
import os
import sys

sys.path.insert(0, os.environ["EXAMPLE"])

import agent
from livekit.agents import AgentServer, JobContext, JobExecutorType, cli

server = AgentServer(job_executor_type=JobExecutorType.THREAD)


def tell(event: str, **what: object) -> None:
    print(json.dumps({"event": event, **what}), flush=True)


@server.rtc_session()
async def talk(ctx: JobContext) -> None:
    await agent.talk(ctx)
    tell("greeted")
    session = ctx.primary_session
    session.output.audio.on(
        "playback_finished",
        lambda end: tell("finished", position=end.playback_position, interrupted=end.interrupted),
    )
    await session.say("Two seconds.", audio=agent.tone(2))
    speech = session.say("Ten seconds.", audio=agent.tone(10))
    await asyncio.sleep(2)
    await speech.interrupt(force=True)
    await session.say("One second.", audio=agent.tone(1))
    tell("leaves")
    ctx.shutdown()


cli.run_app(server)
