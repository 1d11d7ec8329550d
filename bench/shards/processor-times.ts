/** The processor time of database servers. All their processes count. */
import { readdir, readFile } from "node:fs/promises";

/** Nanoseconds of the processor, by process, of the servers with these first processes. */
const processorTimes = async (servers: readonly number[]): Promise<Map<number, number>> => {
  const times = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = await readFile(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      if (!servers.includes(parent) && !servers.includes(Number(name))) continue;
      times.set(Number(name), Number((await readFile(`/proc/${name}/schedstat`, "utf8")).split(" ")[0]));
    } catch {
      // The process has ended.
    }
  }
  return times;
};

/** The milliseconds of processor time that the servers take during `work`. */
export const measureProcessorTime = async (
  servers: readonly number[],
  work: () => Promise<unknown>,
): Promise<number> => {
  const before = await processorTimes(servers);
  await work();
  let nanoseconds = 0;
  for (const [pid, time] of await processorTimes(servers)) nanoseconds += time - (before.get(pid) ?? 0);
  return nanoseconds / 1e6;
};
