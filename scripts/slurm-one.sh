#!/usr/bin/env bash
# slurm-one.sh DIR   a Slurm cluster of two nodes on this machine, for tests and for trying
#                    things out, until its standard input ends. DIR is made, and holds
#                    everything: configuration, state, logs. Only root may, with Debian's
#                    slurm-wlm and munge.
#
# It prints "ready" when both nodes are up; then
#
#   export SLURM_CONF=DIR/slurm.conf
#
# makes sinfo, sbatch and the others talk to it. Lines of its standard input:
#
#   kill n2     the node dies at once, with the jobs on it
#   start n2    and comes back
#
# Each node is a process-id namespace with slurmd in it, so that nothing outlives its node.
# A node has two CPUs and two GPUs, which are /dev/null under another name. It listens on
# the loopback interface alone.
set -u

dir=${1:?usage: slurm-one.sh DIR}
for tool in slurmctld slurmd munged sbatch unshare setpriv; do
  command -v $tool >/dev/null || { echo "slurm-one.sh: no $tool: install slurm-wlm and munge" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "slurm-one.sh: only root can start a cluster" >&2; exit 2; }
mkdir -p "$dir"/{n1,n2,state,log} || exit 2
dir=$(cd "$dir" && pwd)
export SLURM_CONF=$dir/slurm.conf

port=$((20000 + $$ % 20000))
head -c 128 /dev/urandom > "$dir/munge.key"
chmod 600 "$dir/munge.key"
for i in 0 1; do mknod "$dir/gpu$i" c 1 3 || exit 2; done

cat > "$SLURM_CONF" <<END
ClusterName=one
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CommunicationParameters=NoInAddrAny
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/%n.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=5,batch_sched_delay=0
ReturnToService=2
SlurmdTimeout=10
KillWait=5
GresTypes=gpu
NodeName=n1 NodeAddr=127.0.0.1 NodeHostname=localhost Port=$((port + 1)) CPUs=2 RealMemory=8000 Gres=gpu:2
NodeName=n2 NodeAddr=127.0.0.1 NodeHostname=localhost Port=$((port + 2)) CPUs=2 RealMemory=8000 Gres=gpu:2
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
echo "NodeName=n[1-2] Name=gpu File=$dir/gpu[0-1]" > "$dir/gres.conf"

declare -A pid
# daemon NAME COMMAND...: in the background; it is killed with this script, whatever ends it.
daemon() {
  local name=$1
  shift
  setpriv --pdeathsig KILL "$@" </dev/null >>"$dir/log/$name.out" 2>&1 &
  pid[$name]=$!
}
start() { daemon "$1" unshare --pid --fork --mount-proc --kill-child=KILL slurmd -D -N "$1"; }
# die NODE: its slurmd is killed, which is the first process of its namespace.
die() {
  pkill -KILL -P "${pid[$1]}"
  wait "${pid[$1]}"
} 2>/dev/null
end() {
  die n1
  die n2
  kill "${pid[slurmctld]}" "${pid[munged]}"
  wait
} 2>/dev/null
trap end EXIT
trap 'exit 1' TERM INT HUP

# --force: the folder may be closed to other users.
daemon munged munged --foreground --force --socket="$dir/munge.socket" --key-file="$dir/munge.key" --pid-file="$dir/munged.pid" \
  --log-file="$dir/log/munged" --seed-file="$dir/munge.seed"
for _ in {1..100}; do [ -S "$dir/munge.socket" ] && break; sleep 0.1; done
daemon slurmctld slurmctld -D -i
start n1
start n2
for _ in {1..60}; do
  [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] && break
  sleep 0.5
done
if [ "$(sinfo -h -t idle -o %D 2>/dev/null)" != 2 ]; then
  echo "slurm-one.sh: the cluster did not come up: see $dir/log" >&2
  exit 1
fi
echo ready
while read -r verb name; do
  case $verb in
  kill) die "$name" ;;
  start) start "$name" ;;
  esac
done
exit 0
