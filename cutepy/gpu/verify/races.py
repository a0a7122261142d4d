"""Does every address belong to one invocation, or wait for a barrier? One verdict for each array that is written."""

from ..ir import Buffer
from .conflicts import check
from .model import Model, Verb
from .owners import check_groups
from .phases import Phase, phases
from .scene import Answer
from .verdict import Verdict


def decide_races(model: Model) -> list[Verdict]:
    """One verdict for each array that invocations share and write."""
    shared = phases(model, storage=False)
    bindings = phases(model, storage=True)
    verdicts = []
    for buffer in (*model.kernel.buffers, *model.kernel.local):
        verbs = {a.verb for a in model.accesses if a.buffer is buffer}
        changed = not verbs <= {"reads"}
        if buffer.space == "workgroup" and changed:
            answers = _within(model, buffer, shared)
            count = f"{len(shared)} places" if len(shared) > 1 else "1 place"
            verdicts.append(_verdict(buffer, answers, verbs, f"between barriers in {count}"))
        elif buffer.space == "storage" and changed:
            answer, single = check_groups(model, buffer)
            answers = [answer] if answer.witness or single else [answer, *_within(model, buffer, bindings)]
            verdicts.append(_verdict(buffer, answers, verbs, "in the whole grid"))
    return verdicts


def _within(model: Model, buffer: Buffer, found: list[Phase]) -> list[Answer]:
    return [check(model, phase, buffer) for phase in found if any(a.buffer is buffer for a in phase.accesses)]


def _verdict(buffer: Buffer, answers: list[Answer], verbs: set[Verb], where: str) -> Verdict:
    for answer in answers:
        if answer.witness is not None:
            writing = {u.verb for u in answer.witness.uses} == {"writes"}
            reason = "two invocations write one element" if writing else "one changes what another uses"
            return Verdict("no races", "refuted", reason, buffer.name, answer.witness)
    doubts = [a.doubt for a in answers if a.doubt]
    if doubts:
        return Verdict("no races", "undecided", "; ".join(dict.fromkeys(doubts)), buffer.name)
    if verbs == {"updates"}:
        return Verdict("no races", "proven", "only atomics touch it", buffer.name)
    atomics = "or is touched by atomics only, " if "updates" in verbs else ""
    return Verdict("no races", "proven", f"every element has one owner {atomics}{where}", buffer.name)
