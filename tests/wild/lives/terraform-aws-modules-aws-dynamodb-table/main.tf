module "plain" {
  source = "../.."

  name     = "weft-wild-plain"
  hash_key = "id"
  attributes = [
    { name = "id", type = "N" },
    { name = "title", type = "S" },
    { name = "age", type = "N" },
  ]
  global_secondary_indexes = [
    {
      name               = "titles"
      hash_key           = "title"
      range_key          = "age"
      projection_type    = "INCLUDE"
      non_key_attributes = ["id"]
    }
  ]
  tags = {
    Owner = "wild"
  }
}

module "off" {
  source       = "../.."
  create_table = false
}

output "table" {
  value = module.plain.dynamodb_table_id
}
