module "m" {
  source    = "./m"
  converted = { a = sensitive(null), b = sensitive(1) }
  list      = [{ a = sensitive(null), b = "1" }]
  same      = { a = sensitive(tostring(null)), b = "2" }
}
output "converted" { value = module.m.converted }
output "list" { value = module.m.list }
output "same" { value = module.m.same }
output "tuple" { value = issensitive(tolist([sensitive(null), 1])[0]) }
