module "m" {
  source = "./m"
  one    = tomap({ tags = tomap({ a = 1 }) })
  many   = [tomap({ a = 1 }), { a = 2, b = ["x"] }]
}
output "m" {
  value = module.m
}
