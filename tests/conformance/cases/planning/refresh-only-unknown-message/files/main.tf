variable "n" {
  default = 1
}
module "m" {
  source = "./m"
  count  = var.n
  size   = 20
}
output "n" {
  value = var.n
}
check "c" {
  assert {
    condition     = alltrue([for t in module.m : t.size < 10])
    error_message = "sizes ${join(",", [for t in module.m : t.size])}"
  }
}
