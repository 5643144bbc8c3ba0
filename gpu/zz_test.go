package gpu
import ("testing";"psafe/fallback";"psafe/host/bound";"psafe/host/bound/devicetest";"psafe/kernels")
func TestZZ(t *testing.T){
 d:=open(t,devices(t)[0],bound.Float32,Options{untested:true,shape:kernels.Shape{Lanes:1,Local:1,Run:1}})
 devicetest.RunAgainst(t,d,fallback.New(bound.Float32),devicetest.Factor(0.1))
}
