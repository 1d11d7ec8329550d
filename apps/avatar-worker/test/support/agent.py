"""
Runs examples/agent, lets it speak and be interrupted, and tells on standard output what LiveKit's agents are told by the avatar. In
a room of the service it brings the avatar of the call, and speaks. AGENT_NAME is the name of both.
"""

import asyncio
import json
import os
import sys

sys.path.insert(0, os.environ["EXAMPLE"])

import agent
from livekit.agents import Agent, AgentServer, AgentSession, JobContext, JobExecutorType, cli
from livekit.plugins import bey

# LiveKit gives no job to a worker that says that its machine is busy.
server = AgentServer(job_executor_type=JobExecutorType.THREAD, load_fnc=lambda: 0.0)


def tell(event: str, **what: object) -> None:
    print(json.dumps({"event": event, **what}), flush=True)


async def talk_in_call(ctx: JobContext) -> None:
    """As docs/calls.md shows it."""
    call = json.loads(ctx.job.metadata)
    session = AgentSession(turn_detection="manual")
    avatar = bey.AvatarSession(avatar_id=call["avatar_id"], api_url=call["api_url"], api_key=call["api_key"])
    await avatar.start(session, room=ctx.room)
    await session.start(agent=Agent(instructions="You are kind."), room=ctx.room)
    await session.say("A minute.", audio=agent.tone(60))


@server.rtc_session(agent_name=os.environ["AGENT_NAME"])
async def talk(ctx: JobContext) -> None:
    tell("job", room=ctx.room.name)
    if ctx.job.metadata:
        return await talk_in_call(ctx)
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
