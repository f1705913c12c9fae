// kube-router as k3s has it, to enforce network policies on a cluster that does not. Its sums are in go.sum.
module tandem.dev/kube-router

go 1.25

require github.com/cloudnativelabs/kube-router/v2 v2.6.3-k3s1

replace github.com/cloudnativelabs/kube-router/v2 => github.com/k3s-io/kube-router/v2 v2.6.3-k3s1
