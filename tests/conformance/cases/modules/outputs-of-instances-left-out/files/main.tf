module "a" {
  for_each = toset(["x", "y"])
  source   = "./m"
  v        = each.key
}
output "up" { value = { for k, a in module.a : k => a.up } }
output "both" { value = "${module.a["x"].raw}-${module.a["y"].raw}" }
