/**
 * Forms of SQL that Citus refuses or, worse, silently changes: functions and statements must not use them, so that a
 * database can be distributed later. On one database they are correct, so no other test fails for them.
 */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { functionFiles, functionName } from "./files.ts";

const SRC = join(import.meta.dir, "..");

/** Tokens that begin or end a statement in PL/pgSQL, tokens that nest, and similar tokens to distinguish from them. */
const TOKEN = /--.*|'(?:[^']|'')*'|\b(?:case|end\s+if|end\s+loop|end|then|else|loop|begin|declare)\b|[();]/g;

/** The single SQL statements and expressions of a function or of a listing of statements, without comments. */
const queriesOf = (text: string): string[] => {
  const queries: string[] = [];
  let [query, depth, cases, last] = ["", 0, 0, 0];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    query += text.slice(last, index);
    last = index + token.length;
    if (token.startsWith("--")) continue;
    if (token === "case") cases++;
    if (token === "(") depth++;
    if (token === ")") depth--;
    const endsCase = token === "end" && cases > 0;
    const isWithin = depth > 0 || cases > 0 || /^['()]/.test(token);
    if (endsCase) cases--;
    if (isWithin) query += token;
    else {
      queries.push(query.trim());
      query = "";
    }
  }
  return [...queries, (query + text.slice(last)).trim()].filter(Boolean);
};

/** `ownTyped`: the variables of a function with a type that is not built in. */
type Code = { name: string; queries: string[]; ownTyped: ReadonlySet<string> };
const codeOf = (name: string, text: string, body = text): Code => ({
  name,
  queries: queriesOf(body),
  ownTyped: new Set(
    [...text.matchAll(/\b(\w+) (?:constant )?(?:rta|public|fleet)\.\w+/g)].map(([, variable = ""]) => variable),
  ),
});
const functions: Code[] = await Promise.all(
  (await functionFiles()).map(async (path) => {
    const text = await Bun.file(join(SRC, path)).text();
    return codeOf(functionName(path), text, text.slice(Math.max(text.indexOf("$$"), 0)).replaceAll("$$", ""));
  }),
);
/** The tables that functions name. Statements name them without their schema. */
const tables = new Set(
  functions
    .flatMap(({ queries }) => queries)
    .flatMap((one) => [...one.matchAll(/\bpublic\.(\w+)/g)].map(([, name]) => name)),
);
const listing = (await Bun.file(join(SRC, "../generated/statements.sql")).text()).replaceAll(
  new RegExp(`\\b(from|join|into|update|using) (?=(?:${[...tables].join("|")})\\b)`, "g"),
  "$1 public.",
);
const statements: Code[] = listing
  .split(/^-- (?=\w+\. Columns)/m)
  .slice(1)
  .map((text) => codeOf(text.slice(0, text.indexOf(".")), "", text.slice(text.indexOf("\n"))));

const TABLE = /\b(?:from|join|into|update|using)\s+(?:public|fleet)\.\w+|\bdelete from (?:public|fleet)\./;
const called = (query: string): string[] => [...query.matchAll(/\brta\.(\w+)\(/g)].map(([, name = ""]) => name);

/** The functions that read or write tables, directly or by functions that they call. */
const withTables = new Set(
  functions.filter(({ queries }) => queries.some((one) => TABLE.test(one))).map((one) => one.name),
);
for (let size = -1; size !== withTables.size; ) {
  size = withTables.size;
  for (const { name, queries } of functions) {
    if (queries.flatMap(called).some((other) => withTables.has(other))) withTables.add(name);
  }
}

const CLOCK = /\bclock_timestamp\(\)|\bstatement_timestamp\(\)/;
const STABLE = /\bnow\(\)|\bcurrent_timestamp\b/;
const CHANGES = /\b(?:update\s+(?:public|fleet)\.|delete\s+from\s+(?:public|fleet)\.)/;
const FROM_SELECT_ON_CONFLICT = /\binsert into\b(?:(?!\bvalues\b).)*?\bselect\b.*\bon conflict\b/s;

/** The conditions of `on conflict … do update … where`. */
const conflictConditions = (query: string): string[] =>
  [...query.matchAll(/\bon conflict\b.*?\bdo update\b.*?\bset\b(.*?)(?=\breturning\b|$)/gs)].flatMap(([, set = ""]) =>
    set.split(/\bwhere\b/).slice(1),
  );
/** The CASE and COALESCE of a query, up to their first end. */
const casesOf = (query: string): string[] =>
  [...query.matchAll(/\bcase\b.*?\bend\b|\bcoalesce\(.*?\),?$/gms)].map(([text]) => text);
/** The assignments of an UPDATE. */
const setsOf = (query: string): string[] =>
  [...query.matchAll(/\bupdate\s+(?:public|fleet)\..*?\bset\b(.*?)(?=\bfrom\b|\bwhere\b|$)/gs)].map(
    ([, set = ""]) => set,
  );

/** The variable to which a query is assigned. */
const assignedBy = (query: string): string => /^(\w+)(?:\[[^\]]*\])* :=/.exec(query)?.[1] ?? "";

const takesRow = (text: string): string =>
  /^create function rta\.(\w+)\(\s*p_\w+ (?:public|fleet)\.\w+\b(?!\[)/m.exec(text)?.[1] ?? "";
const rowFunctions = (
  await Promise.all((await functionFiles()).map(async (path) => takesRow(await Bun.file(join(SRC, path)).text())))
).filter(Boolean);
/** A row that a query reads, as the first argument of a function whose first parameter is a row of a table. */
const ROW_ARGUMENT = new RegExp(`\\brta\\.(?:${rowFunctions.join("|")})\\((?![pv]_)`);

/** The faults of a query, given the query after it. */
const faultsOf = (query: string, next: string, ownTyped: ReadonlySet<string>): string[] => {
  const faults: [boolean, string][] = [
    [
      FROM_SELECT_ON_CONFLICT.test(query) && !/^with\b/.test(query) && /\brow_count\b|\bfound\b/.test(next),
      "row_count or found after INSERT … SELECT … ON CONFLICT counts what was read: count the rows of RETURNING",
    ],
    [
      conflictConditions(query).some((one) => STABLE.test(one) || CLOCK.test(one) || /\b[pv]_\w+|\$\d/.test(one)),
      "a clock or a variable in the WHERE of ON CONFLICT is refused: compare columns of excluded",
    ],
    [
      CHANGES.test(query) && (CLOCK.test(query) || casesOf(query).some((one) => STABLE.test(one))),
      "a clock in UPDATE or DELETE, or a stable function in its CASE, is refused: read it into a variable",
    ],
    [
      setsOf(query).some(
        (set) =>
          /\* interval\b|\bmake_interval\([^()]*\b(?![pv]_)\w+\.\w[^()]*\)(?!\) at time zone)/.test(set) ||
          casesOf(set).some((one) => /\binterval\b|_interval\(/.test(one)),
      ),
      "a time plus an interval is stable: Citus refuses it in SET of a column, and within CASE or COALESCE; compute it before",
    ],
    [
      TABLE.test(query) && called(query).some((name) => withTables.has(name)),
      "a function that reads tables is called in a query of tables: call it in a separate statement",
    ],
    [
      /\binsert into\b[^()]*\([^()]*\)\s*select\b(?:(?!\bfrom\b|\bon conflict\b).)*\bwhere\b/s.test(query),
      "INSERT … SELECT … WHERE without FROM is a syntax error on a node: use IF and VALUES",
    ],
    [
      /\binsert into\b[^()]*\([^()]*\)\s*values\b/.test(query) && TABLE.test(query.replace(/^.*?\bvalues\b/s, "")),
      "a subquery of a table in the VALUES of INSERT is refused: read it into a variable",
    ],
    [
      /\binsert into\b[^()]*\([^()]*\)\s*select\b(?:(?!\bfrom\b)[^()])*\bfrom\s+(?:public|fleet)\./s.test(query),
      "INSERT … SELECT from a table is a syntax error on a node: select from a list or a CTE",
    ],
    [
      /\bconstraint_name\b/.test(query) && !/\bregexp_replace\(v_constraint\b/.test(next),
      "the name of a constraint ends with a number on Citus: remove it before the name is compared",
    ],
    [
      /\binsert into\b[^()]*\([^()]*\)\s*select p_\w+\.\*\s*(?:on conflict\b|$)/s.test(query),
      "INSERT … SELECT of one row is a COPY, whose errors have no code of their own on another node: write `values (p_x.*)`",
    ],
    [
      TABLE.test(query) && ROW_ARGUMENT.test(query),
      "a row of a query is passed to a function: on a shard the row has another type (42883). Pass its columns",
    ],
    [
      TABLE.test(query) && ownTyped.has(assignedBy(query)),
      // PL/pgSQL passes the variable as a parameter of the query, which does not use it. Citus does not pass its type
      // to the node.
      "a query of a table is assigned to a variable of our own type, which fails when the shard is on another node (42P18): write `select array(…) into v_x`, or `select row.* into v_x`",
    ],
  ];
  return faults.flatMap(([isFault, text]) => (isFault ? [text] : []));
};
const allFaults = ({ name, queries, ownTyped }: Code): string[] =>
  queries.flatMap((query, at) => faultsOf(query, queries[at + 1] ?? "", ownTyped).map((fault) => `${name}: ${fault}`));

describe("SQL that can be distributed", () => {
  test.each<[string, string]>([
    [
      "insert into public.t (a) select 1 from unnest(p_a) on conflict do nothing; get diagnostics v_n = row_count;",
      "row_count",
    ],
    [
      "insert into public.t (a) select a from unnest(p_a) on conflict do nothing; if not found then return; end if;",
      "found",
    ],
    [
      "insert into public.t (a) values (1) on conflict (a) do update set b = 1 where t.c <= now() - p_age;",
      "ON CONFLICT",
    ],
    ["insert into public.t (a) values (1) on conflict (a) do update set b = 1 where t.c <= v_then;", "ON CONFLICT"],
    ["update public.t set a = date_trunc('day', clock_timestamp());", "a clock"],
    [
      "with x as (delete from public.t where a < clock_timestamp() returning 1) select count(*) into v_n from x;",
      "a clock",
    ],
    ["update public.t set a = case when b < now() then 1 end;", "CASE"],
    ["update public.t set a = v_now + given.ms * interval '1 millisecond' from unnest(p_ms) given (ms);", "interval"],
    ["update public.t set a = v_now + make_interval(secs => given.s) from unnest(p_s) given (s);", "interval"],
    ["update public.t set a = coalesce(a, least(v_now, v_now - make_interval(secs => v_seconds)));", "interval"],
    [
      "if exists (select from public.t where a = 1 and rta.lock_caller(a, true) is null) then return; end if;",
      "a separate statement",
    ],
    [
      "insert into public.t (a, b) select p_a, 1 where not exists (select from public.t) on conflict do nothing;",
      "VALUES",
    ],
    ["insert into public.t (a) select b from public.u where b = 2;", "from a table"],
    [
      "get stacked diagnostics v_constraint = constraint_name; return case v_constraint when 'a' then 1 end;",
      "a number",
    ],
    ["insert into public.t (a) values (1 + (select b from public.t where b = 2));", "a subquery"],
    ["declare v_a rta.b[]; begin v_a := array(select row(1)::rta.b from public.t for update);", "into v_x"],
    ["insert into public.t (a, b) select p_t.*;", "no code"],
    ["declare v_a public.t[]; begin v_a[1] := (select t from public.t);", "into v_x"],
    ["select rta.used_by_clock(t, now()) from public.t;", "its columns"],
  ])("the search: finds %p", (text, fault) => {
    expect(allFaults(codeOf("f", text)).join()).toContain(fault);
  });

  test.each<string>([
    "with x as (insert into public.t (a) select 1 from unnest(p_a) on conflict do nothing returning 1) select count(*) into v_n from x; if v_n = 0 then return; end if;",
    "insert into public.t (a) values (1) on conflict do nothing; return found;",
    "insert into public.t (a) values (1) on conflict (a) do update set b = excluded.b where excluded.b - t.b >= interval '1 day';",
    "v_now := clock_timestamp(); update public.t set a = v_now; -- clock_timestamp()\n if a then perform rta.lock_caller(a, true); end if;",
    "update public.t set a = (v_utc + make_interval(secs => given.s)) at time zone 'utc' from unnest(p_s) given (s);",
    "select case when a then b end from public.t; perform rta.lock_caller(a, true);",
    "insert into public.t (a) select a from unnest(p_a) where a is not null;",
    "declare v_a rta.b[] := array(select row(1)::rta.b from public.t); v_c boolean; v_d rta.b; begin v_c := exists (select from public.t); select array(select row(1)::rta.b from public.t) into v_a; v_d.e := (select f from public.t);",
  ])("the search: leaves %p", (text) => {
    expect(allFaults(codeOf("f", text))).toEqual([]);
  });

  test("the functions: have no form that Citus refuses", () => {
    expect(functions.length).toBeGreaterThan(100);
    expect(functions.flatMap(allFaults)).toEqual([]);
  });

  test("the statements: have no form that Citus refuses", () => {
    expect(statements.length).toBeGreaterThan(80);
    expect(statements.flatMap(allFaults)).toEqual([]);
  });
});
