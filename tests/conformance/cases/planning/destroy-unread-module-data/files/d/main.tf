variable "name" {}
data "lab_thing" "n" { name = var.name }
output "region" { value = data.lab_thing.n.name }
