import type { ReactNode } from "react";
import type { ListSearch } from "../layout/use-list-search.ts";
import { Button } from "./button.tsx";
import { DayField, FilterField, InlineSelect, Options } from "./field.tsx";

export type BarProps = {
  list: ListSearch;
  status: { value: string; values: readonly (readonly [value: string, text: string])[]; set: (value: string) => void };
  /** Whether any filter is set. */
  isFiltered: boolean;
  /** The result of the search, for screen readers. */
  children: ReactNode;
};

/** The filters above a list. The service does the search. */
export const SearchBar = ({ list, status, isFiltered, children }: BarProps) => (
  <search className="mb-4 grid grid-cols-2 items-center gap-2 sm:flex sm:flex-wrap sm:gap-x-3">
    <div className="sm:w-80">
      <FilterField label="Search by name or id" value={list.typed} onChange={list.setTyped} />
    </div>
    <InlineSelect label="Status" value={status.value} onChange={({ target }) => status.set(target.value)}>
      <Options of={status.values} />
    </InlineSelect>
    <DayField label="From" value={list.search.since} onChange={(day) => list.setDay("since", day)} />
    <DayField label="To" value={list.search.until} onChange={(day) => list.setDay("until", day)} />
    {isFiltered && <Button onClick={list.clear}>Clear</Button>}
    {/* The line keeps its place before the list is read. */}
    <span role="status" className="col-span-2 min-h-5 text-sm text-muted">
      {children}
    </span>
  </search>
);

type MoreProps = { name: string; isFound: boolean; run: () => void; isBusy: boolean };

/** Loads or searches older items. */
export const More = ({ name, isFound, run, isBusy }: MoreProps) => (
  <p className="mt-4 flex flex-wrap items-center gap-3 text-sm text-muted">
    {!isFound && `None of the newer ${name} matches.`}
    <Button isBusy={isBusy} onClick={run}>
      {isFound ? "Load older ones" : "Search older ones"}
    </Button>
  </p>
);
