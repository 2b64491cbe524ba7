#!/bin/sh
# What a coding agent would do, in a few lines of shell. The prompt comes on standard input, rulings on top of it.
set -eu
prompt=$(cat)

# finish FILE commits the work, ticks the boxes and claims that the task is done.
finish() {
	git add -- "$1"
	git commit -q -m "$FERROX_TASK: write $1" -- "$1"
	sed -i 's/- \[ \]/- [x]/' "$FERROX_TASK_DIR/STATUS.md"
	echo "wrote $1" | tee "$FERROX_TASK_DIR/.DONE"
}

case $FERROX_TASK in
DEMO-1)
	echo 'Dear reader,' >greeting.txt
	finish greeting.txt
	;;
DEMO-2)
	# Without a ruling it may not choose: it asks, and ends. The hold outlives it.
	if [ -z "$FERROX_RULINGS" ]; then
		ferrox escalate --gate wording -m 'How shall the letter close: formal or friendly?'
		exit 0
	fi
	for ruling in $FERROX_RULINGS; do ferrox ack "$ruling"; done
	printf '%s\n' "$prompt" | sed -n 's/^close with: //p' >closing.txt
	finish closing.txt
	;;
DEMO-3)
	echo 'this letter was written by four tasks in two lanes.' >body.txt
	finish body.txt
	;;
DEMO-4)
	cat greeting.txt body.txt closing.txt >letter.txt
	finish letter.txt
	;;
esac
