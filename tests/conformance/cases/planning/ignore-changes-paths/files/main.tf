terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "v" { default=1 }
resource "lab_thing" "a" {
 name="a${var.v}"
 size=var.v
 color="c${var.v}"
 labels={ k="v${var.v}", z="z${var.v}" }
 notes=["n${var.v}","m${var.v}"]
 replicas=[{zone="z${var.v}",weight=var.v}]
 limits={cpu=var.v}
 step { command="s${var.v}" }
 lifecycle { ignore_changes=[name, labels["k"], notes[0], replicas[0].zone, limits.cpu, step[0].command] }
}
resource "lab_thing" "all" {
 name="all${var.v}"
 size=var.v
 secret="s${var.v}"
 lifecycle { ignore_changes=all }
}
