"""Clocks of machine.py's devices that are not the host's: ahead, behind, each device's its own, and drifting apart while programs sleep."""
import dataclasses


@dataclasses.dataclass
class Clock:
    base: int
    ahead: int = 0  # ns
    drift: float = 0

    def tells(self, time):
        return time + self.ahead + int((time - self.base) * self.drift)


class Clocks:
    SKEWS = 0.2  # share of programs

    def start_clocks(self):
        self.skewed = self.rng.random() < self.SKEWS
        self.drifts = self.skewed and self.rng.random() < 0.5
        alike = self.random_clock() if self.skewed and self.rng.random() < 0.5 else None
        self.clocks = [alike or (self.random_clock() if self.skewed and self.rng.random() < 0.8 else Clock(self.began)) for _ in range(self.devices)]

    def random_clock(self):
        drift = self.rng.uniform(-40e-6, 40e-6) if self.drifts else 0
        return Clock(self.began, int(self.rng.choice([-1, 1]) * 10 ** self.rng.uniform(3, 5.3)), drift)

    def clock_acts(self):
        return [self.sleep] if self.drifts else []

    def sleep(self, t):
        self.threads[t] += int(10 ** self.rng.uniform(5, 9))

    def tell_time(self):
        """Of what devices did, as they themselves tell it."""
        for w in self.works:
            clock = self.clocks[w.stream.device]
            w.start, w.dur = clock.tells(w.start), clock.tells(w.over) - clock.tells(w.start)
        self.barriers = [(waits, corr, event, s, self.clocks[s.device].tells(start), self.clocks[s.device].tells(end), source)
                         for waits, corr, event, s, start, end, source in self.barriers]
