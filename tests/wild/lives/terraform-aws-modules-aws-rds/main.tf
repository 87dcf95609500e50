# As examples/complete-mysql, with one network less.
resource "aws_vpc" "this" {
  cidr_block = "10.0.0.0/16"
}

resource "aws_subnet" "this" {
  for_each = { a = 1, b = 2 }

  vpc_id            = aws_vpc.this.id
  cidr_block        = cidrsubnet(aws_vpc.this.cidr_block, 8, each.value)
  availability_zone = "eu-west-1${each.key}"
}

module "db" {
  source = "../.."

  identifier = "weft-wild"

  engine               = "mysql"
  engine_version       = "8.0"
  family               = "mysql8.0"
  major_engine_version = "8.0"
  instance_class       = "db.t4g.large"

  allocated_storage     = 20
  max_allocated_storage = 100

  db_name                     = "completeMysql"
  username                    = "complete_mysql"
  password                    = "not-a-secret"
  manage_master_user_password = false
  port                        = 3306

  create_db_subnet_group = true
  subnet_ids             = [for subnet in aws_subnet.this : subnet.id]

  maintenance_window = "mon:00:00-mon:03:00"
  backup_window      = "07:00-09:00"

  skip_final_snapshot = true
  deletion_protection = false

  parameters = [
    {
      name  = "character_set_client"
      value = "utf8mb4"
    },
    {
      name  = "character_set_server"
      value = "utf8mb4"
    }
  ]

  tags = {
    Name = "weft-wild"
  }
  db_instance_tags = {
    Sensitive = "high"
  }
}

module "off" {
  source = "../.."

  identifier                = "weft-wild-off"
  create_db_instance        = false
  create_db_parameter_group = false
  create_db_option_group    = false
}

output "address" {
  value = module.db.db_instance_address
}
