terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
variable "pw" {
  ephemeral = true
  default   = "pw"
}
resource "lab_thing" "t" {
  name              = "t"
  secret_wo         = templatefile("t.tftpl", { p = var.pw, u = "u" })
  secret_wo_version = 1
}
output "len" {
  value = ephemeralasnull(length(var.pw)) == null
}
