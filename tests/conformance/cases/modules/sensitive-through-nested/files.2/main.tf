module "outer" {
  source = "./outer"
  secret = "other"
}
output "pair" {
  value     = module.outer.pair
  sensitive = true
}
output "plain" {
  value = module.outer.pair.open
}
