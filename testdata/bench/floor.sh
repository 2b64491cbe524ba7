#!/bin/sh
# floor.sh REPO TASKS: the git work and the spawns of a batch of trivial tasks in two lanes, with no supervision at all. What
# ferrox adds is measured against it: worktrees once a lane, a worker a task, a three-way merge without a checkout, a
# compare-and-swap of the integration branch, and the lane brought along for its next task.
set -eu
repo=$1 tasks=$2
cd "$repo"
base=$(git rev-parse HEAD)
git branch floor/integration "$base"
turn="$repo.floor.turn"
: >"$turn"

lane() {
	n=$1 dir="$repo.floor/lane-$1"
	git worktree add -q -b "floor/lane-$n" "$dir" "$base"
	i=$n
	while [ "$i" -le "$tasks" ]; do
		git -C "$dir" status --porcelain=v2 -z --branch --untracked-files=all >/dev/null
		(cd "$dir" && FERROX_TASK=T-$i FERROX_TASK_DIR="$dir/tasks/T-$i-x" setsid -w sh -c '. ./worker.sh' <"$dir/tasks/T-$i-x/PROMPT.md" >/dev/null 2>&1)
		(
			flock 9
			head=$(git -C "$dir" rev-parse HEAD)
			git -C "$dir" status --porcelain=v2 -z --branch --untracked-files=all >/dev/null
			into=$(git for-each-ref --format='%(objectname) %(worktreepath)' refs/heads/floor/integration | cut -d' ' -f1)
			git diff --raw -z --no-renames --merge-base "$into" "$head" >/dev/null
			tree=$(git merge-tree --write-tree "$into" "$head" | head -1)
			tree=$(overlay "$dir" "tasks/T-$i-x" "$tree")
			merge=$(git commit-tree -p "$into" -p "$head" -m "Merge T-$i" "$tree")
			git update-ref refs/heads/floor/integration "$merge" "$into"
			git -C "$dir" reset -q --hard "$merge"
		) 9>"$turn"
		i=$((i + 2))
	done
}

# overlay DIR PACKET TREE puts the packet's uncommitted records into a tree.
overlay() {
	index="$1/../index-$$-$n"
	GIT_INDEX_FILE="$index" git read-tree "$3"
	for f in STATUS.md .DONE; do
		printf '100644 %s\t%s\n' "$(git hash-object -w "$1/$2/$f")" "$2/$f"
	done | GIT_INDEX_FILE="$index" git update-index --index-info
	GIT_INDEX_FILE="$index" git write-tree
	rm -f "$index"
}

lane 1 &
lane 2 &
wait
