variable "cidr" {
  default = "10.0.0.0/16"
  validation {
    condition     = can(cidrnetmask(var.cidr))
    error_message = "No CIDR: ${var.cidr}."
  }
}
locals {
  subnets = { for i, n in ["a", "b"] : n => cidrsubnet(var.cidr, 8, i) }
}
output "subnets" { value = local.subnets }
