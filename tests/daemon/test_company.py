"""The jobs that shared a worker: no result leaves while an audit of any of them is pending."""

from __future__ import annotations

import asyncio

from cruxboxd.zygotes.company import Company


async def test_all_wait_until_each_audit_has_ended():
    company = Company(lambda checks: (0,) if checks else ())
    company.draw(3)
    company.draw(2)
    waiting = asyncio.ensure_future(company.settled())
    await asyncio.sleep(0)
    assert not waiting.done()
    company.settle()
    await asyncio.sleep(0)
    assert not waiting.done()
    company.settle()
    await asyncio.wait_for(waiting, 5)


async def test_an_audit_drawn_later_is_waited_for_too():
    company = Company(lambda checks: (0,))
    company.draw(1)
    company.settle()
    company.draw(1)
    waiting = asyncio.ensure_future(company.settled())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    company.settle()
    await asyncio.wait_for(waiting, 5)


async def test_without_an_audit_nobody_waits():
    company = Company(lambda checks: ())
    assert company.draw(5) == ()
    waiting = asyncio.ensure_future(company.settled())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert waiting.done()
