"""Whether workers kept what they promise, from what triggers and the source have written down."""
import itertools

# What happens to rows, units and runs, in its order: rows and units have one writer at a time.
AUDIT = """
CREATE TABLE audit_rows (n bigserial, tx bigint, "table" text, key text, old_version bigint, new_version bigint,
  old_as_of bigint, new_as_of bigint);
CREATE FUNCTION audit_row() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  o jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
  n jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
  r jsonb := coalesce(n, o);
BEGIN
  INSERT INTO audit_rows (tx, "table", key, old_version, new_version, old_as_of, new_as_of)
  VALUES (txid_current(), TG_TABLE_NAME, concat_ws('/', r ->> 'region', r ->> 'shop', r ->> 'id'),
    (o ->> 'version')::bigint, (n ->> 'version')::bigint, (o ->> 'as_of')::bigint, (n ->> 'as_of')::bigint);
  RETURN NULL;
END $$;
DO $$ DECLARE t text; BEGIN
  FOR t IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
    AND relname NOT LIKE 'syncd%' AND relname NOT LIKE 'audit%'
  LOOP
    EXECUTE format('CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION audit_row()', t);
  END LOOP;
END $$;

CREATE TABLE audit_units (n bigserial, tx bigint, name text, is_slice boolean, held boolean, holds boolean, old_fence bigint,
  fence bigint, old_cadence float, cadence float, claimed float, is_end boolean);
CREATE FUNCTION audit_unit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO audit_units (tx, name, is_slice, held, holds, old_fence, fence, old_cadence, cadence, claimed, is_end)
  VALUES (txid_current(), CASE WHEN NEW.slice = '' THEN NEW.entity ELSE NEW.entity || '[' || NEW.slice || ']' END,
    NEW.slice <> '', OLD.holder IS NOT NULL, NEW.holder IS NOT NULL, OLD.fence, NEW.fence,
    extract(epoch FROM OLD.cadence_at), extract(epoch FROM NEW.cadence_at), extract(epoch FROM OLD.claimed_at),
    OLD.finished_at IS DISTINCT FROM NEW.finished_at);
  RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER UPDATE ON syncd_units FOR EACH ROW EXECUTE FUNCTION audit_unit();

CREATE TABLE audit_runs (n bigserial, tx bigint, name text, outcome text);
CREATE FUNCTION audit_run() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO audit_runs (tx, name, outcome) VALUES (txid_current(), NEW.entity, NEW.outcome);
  RETURN NULL;
END $$;
CREATE TRIGGER audit AFTER INSERT ON syncd_runs FOR EACH ROW EXECUTE FUNCTION audit_run();
"""


def overlaps(runs):
    """Committed runs of one unit that were under way at the same time."""
    found = []
    for name, of_unit in runs.items():
        for one, other in itertools.pairwise(of_unit):
            if other["started"] < one["finished"]:
                found.append("%s: %s and %s" % (name, one, other))
    return found


def backward_rows(cluster):
    """Rows that went back to what they were before: whoever wrote them had been told something older."""
    found, last = [], {}
    for row in cluster.rows('SELECT * FROM audit_rows ORDER BY n'):
        name = "%s %s" % (row["table"], row["key"])
        for column in ("version", "as_of"):
            known = last.setdefault((name, column), row["old_" + column] or 0)
            new = row["new_" + column]
            if new is not None:
                if new < known:
                    found.append("%s: %s %d after %d (transaction %d)" % (name, column, new, known, row["tx"]))
                last[name, column] = max(known, new)
    return found


def wrong_deletions(cluster):
    """Rows that were deleted and had not gone from the source since it was asked for them last."""
    found = []
    for row in cluster.rows('SELECT * FROM audit_rows WHERE new_version IS NULL ORDER BY n'):
        seen = max(row["old_as_of"] or 0, row["old_version"])
        removed = cluster.source.removals.get((row["table"], row["key"]), [])
        if not any(clock > seen for clock in removed):
            found.append("%s %s, seen at %d (transaction %d)" % (row["table"], row["key"], seen, row["tx"]))
    return found


def unit_faults(cluster):
    """Units whose fence went back, that ran before their time, or twice for one time."""
    found, whole = [], set(cluster.source.units())
    for unit in cluster.rows("SELECT * FROM audit_units ORDER BY n"):
        what = "%s: %s" % (unit["name"], unit)
        if unit["fence"] < unit["old_fence"]:
            found.append("the fence of " + what)
        if not unit["held"] and unit["holds"] and unit["fence"] <= unit["old_fence"]:
            found.append("claimed with an old fence, " + what)
        # An entity that is cut has runs between the times of its cadence: they end a generation.
        if unit["is_end"] and (unit["is_slice"] or unit["name"] in whole):
            if not unit["held"]:
                found.append("a run ended that nobody had claimed, " + what)
            if unit["cadence"] <= unit["old_cadence"]:
                found.append("ran twice for one time, " + what)
            if unit["claimed"] < unit["old_cadence"]:
                found.append("ran before its time, " + what)
    return found


def unclaimed_runs(cluster):
    """Runs that were committed, and did not end a claim of their unit in the same transaction."""
    return cluster.rows("""
        SELECT r.* FROM audit_runs r WHERE outcome IN ('proven', 'unproven', 'incremental')
          AND (SELECT count(*) FROM audit_units u WHERE u.tx = r.tx AND u.name = r.name AND u.is_end AND u.held) <> 1""")


def twice_in_a_slot(runs, every):
    """Committed runs of one unit that began in the same interval of an aligned schedule."""
    found = []
    for name, of_unit in runs.items():
        for slot, together in itertools.groupby(of_unit, lambda run: run["started"] // every):
            together = list(together)
            if len(together) > 1:
                found.append("%s: %s" % (name, together))
    return found


def largest_burst(times, rate):
    """By how many requests any span of time had more than its rate lets through."""
    largest, least = 0, None
    for index, moment in enumerate(sorted(times)):
        before = index - rate * moment
        least = before if least is None else min(least, before)
        largest = max(largest, before - least + 1)
    return largest
