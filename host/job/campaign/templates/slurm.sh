{{define "where"}}
{{- if .Time}}
#SBATCH --time={{.Time}}
{{- end}}
{{- if .Partition}}
#SBATCH --partition={{.Partition}}
{{- end}}
{{- if .Account}}
#SBATCH --account={{.Account}}
{{- end}}
{{- end -}}
#!/bin/sh
# Campaign {{.Campaign}}, {{.Tasks}} tasks: {{.Shards}} shards for Slurm, and a job that merges
# their results. To be run by sh on a login node; sbatch submits both. Running it again
# submits again: what is done is not done again.
set -eu
cd {{words .Dir}}
mkdir -p logs

shards() { cat <<'END_OF_SHARDS'
#!/bin/sh
#SBATCH --job-name=psafe-{{.Campaign}}
#SBATCH --array=0-{{.Last}}{{if .Parallel}}%{{.Parallel}}{{end}}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={{.CPUs}}
#SBATCH --mem={{.Memory}}
{{- if .GPUs}}
#SBATCH --gres=gpu:{{.GPUs}}
{{- end}}
{{- template "where" .}}
#SBATCH --output=logs/%A_%a.log
#SBATCH --open-mode=append
# After the loss of a node, and where jobs are pre-empted, Slurm starts the shard again.
#SBATCH --requeue
# A minute before the time limit this shell, and it alone, gets USR1.
#SBATCH --signal=B:USR1@60

# psafe keeps what it has finished when it gets TERM, within 2 seconds. Where Slurm sends TERM,
# at scancel and for a requeue, psafe gets it too: a second one would cut that short.
late=no
trap : TERM
trap 'late=yes; kill -TERM "$psafe"' USR1

# The shard is SLURM_ARRAY_TASK_ID of SLURM_ARRAY_TASK_COUNT.
export GOMAXPROCS={{.CPUs}}
{{words .Program}} run {{words .Dir .Run}} &
psafe=$!
# A signal ends wait, but not psafe.
wait "$psafe"; status=$?
while kill -0 "$psafe" 2>/dev/null; do wait "$psafe"; status=$?; done

# Out of time, a device that broke, or a fault of psafe, which is 7 when the shard has it again:
# start again and go on, {{.Retries}} times at most.
case $status:$late in
3:* | 4:yes | 6:* | 143:yes)
  if [ "${SLURM_RESTART_COUNT:-0}" -lt {{.Retries}} ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
  fi ;;
esac
exit "$status"
END_OF_SHARDS
}

# It starts when all shards have ended, however, and fails with a list of what is missing.
merge() { cat <<'END_OF_MERGE'
#!/bin/sh
#SBATCH --job-name=psafe-merge-{{.Campaign}}
#SBATCH --ntasks=1
#SBATCH --mem={{.MergeMemory}}
{{- template "where" .}}
#SBATCH --output=logs/%j-merge.log
#SBATCH --requeue
exec {{words .Program}} merge {{words .Dir}} --out {{words .Out}} {{.Again}}
END_OF_MERGE
}

array=$(shards | sbatch --parsable)
array=${array%%;*}
last=$(merge | sbatch --parsable --dependency="afterany:$array")
echo "job $array: {{.Shards}} shards; job ${last%%;*}: merges them"
